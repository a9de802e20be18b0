"""Handwritten digits: 1,797 images of 8 x 8 pixels, 10 classes."""

import numpy as np
import torch

from holdfast.data.hashing import hash_ints
from holdfast.data.source import Dataset
from holdfast.data.sources.bundled import read_table
from holdfast.data.sources.parts import cut
from holdfast.data.split import by_hash

_BRIGHTEST = 16


def load(test: float = 0.2) -> Dataset:
    """Inputs [n, 1, 8, 8] from 0 to 1; split by a hash of the image's number."""
    table = read_table("digits.csv.gz")
    images = torch.from_numpy((table[:, :-1] / _BRIGHTEST).astype(np.float32).reshape(-1, 1, 8, 8))
    labels = torch.from_numpy(table[:, -1].astype(np.int64))
    sides = by_hash(hash_ints(np.arange(len(table))), test)
    return cut(images, labels, sides, {"task": "classification", "n_classes": 10, "n_features": 64})
