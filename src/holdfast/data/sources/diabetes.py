"""Diabetes: 442 patients, 10 measurements, and how far the disease went within a year."""

import numpy as np

from holdfast.data.hashing import hash_ints
from holdfast.data.source import Dataset
from holdfast.data.sources.bundled import read_table
from holdfast.data.sources.rows import split_rows


def load(test: float = 0.2) -> Dataset:
    """A regression whose target is standardised, too; split by a hash of the row's number."""
    features = read_table("diabetes_data_raw.csv.gz", delimiter=None)
    target = read_table("diabetes_target.csv.gz", delimiter=None)
    return split_rows(features, target, "regression", hash_ints(np.arange(len(target))), test)
