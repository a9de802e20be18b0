"""Noise with a truth in it, of any size: for benchmarks and tests, not for learning anything."""

import torch

from holdfast.data.hashing import derive
from holdfast.data.source import Dataset, TensorSource
from holdfast.errors import JobError


def load(n: int = 10_000, features: int = 20, classes: int = 2, seed: int = 0) -> Dataset:
    """Normal features; the class is the largest of `classes` random projections. No test part."""
    if min(n, features, classes) < 1:
        raise JobError(f"random data need n, features and classes of 1 or more, not {n}, {features}, {classes}")
    generator = torch.Generator().manual_seed(derive(seed))
    inputs = torch.randn(n, features, generator=generator)
    labels = (inputs @ torch.randn(features, classes, generator=generator)).argmax(dim=1)
    info = {"task": "classification", "n_features": features, "n_classes": classes}
    return Dataset(TensorSource(inputs, labels), None, info)
