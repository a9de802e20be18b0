"""The training and the test part of tensors that hold both."""

from typing import Any

import torch

from holdfast.data.order import Indices
from holdfast.data.source import Dataset, TensorSource


def cut(inputs: torch.Tensor, targets: torch.Tensor, sides: tuple[Indices, Indices], info: dict[str, Any]) -> Dataset:
    """The samples of both `sides` (split.by_hash); without a test part if no sample fell on that side."""
    train, test = (TensorSource(inputs[rows], targets[rows]) for rows in sides)
    return Dataset(train, test if len(test) else None, info)
