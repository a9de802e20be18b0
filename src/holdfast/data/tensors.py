"""The one rule by which numbers from outside torch become tensors."""

from typing import Any

import numpy as np
import torch

from holdfast.errors import DataError


def as_tensor(value: Any, target: bool = False) -> torch.Tensor:
    """Tensors as they are; arrays and plain numbers as float32, int64, bool, or (only inputs) uint8.

    Memory is shared where the type already fits. DataError for text and objects; the caller adds the place.
    """
    if isinstance(value, torch.Tensor):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise DataError(f"a value of type {type(value).__name__} is no number, array of numbers or tensor")
    wanted = _dtype(array.dtype, target)
    usable = array.dtype == wanted and array.flags.writeable and all(stride >= 0 for stride in array.strides)
    return torch.from_numpy(array if usable else array.astype(wanted))


def _dtype(dtype: np.dtype[Any], target: bool) -> np.dtype[Any]:
    if dtype.kind == "b" or (dtype == np.uint8 and not target):
        return dtype
    if dtype.kind == "f":
        return np.dtype(np.float16 if dtype == np.float16 else np.float32)
    return np.dtype(np.int64)
