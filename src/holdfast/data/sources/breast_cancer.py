"""Breast cancer: 569 tumours described by 30 measurements; 1 is benign, 0 malignant."""

import numpy as np

from holdfast.data.hashing import hash_ints
from holdfast.data.source import Dataset
from holdfast.data.sources.bundled import read_table
from holdfast.data.sources.rows import split_rows


def load(test: float = 0.2) -> Dataset:
    """A binary task; split by a hash of the row's number."""
    table = read_table("breast_cancer.csv", header_lines=1)
    return split_rows(table[:, :-1], table[:, -1], "binary", hash_ints(np.arange(len(table))), test)
