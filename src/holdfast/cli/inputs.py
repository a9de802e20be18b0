"""Rows of inputs in a file, as the tensors that a job's model takes."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from holdfast.data.source import Dataset
from holdfast.data.sources.csv import read
from holdfast.errors import DataError

Array = NDArray[Any]


def read_inputs(path: Path, dataset: Dataset) -> Any:
    """A tensor, or a dict of tensors, like the inputs that the model was trained on; DataError if they cannot be."""
    example, _ = dataset.train.fetch(np.arange(1))
    if dataset.info.get("task") == "language":
        raise DataError("this is a language model, and rows of inputs are for models that answer for each row")
    if isinstance(example, dict):
        return _named(path, example, dataset.info)
    if not isinstance(example, Tensor):
        raise DataError(
            f"this model takes {type(example).__name__}s of inputs, which no file of rows can hold; "
            "use holdfast.Run(...).model() in Python"
        )
    return _like(_array(path, dataset.info), example, dataset.info, path)


def _named(path: Path, example: dict[str, Any], info: dict[str, Any]) -> dict[str, Tensor]:
    arrays = _loaded(path) if path.suffix == ".npz" else {}
    missing = [name for name in example if name not in arrays]
    if missing:
        raise DataError(
            f"this model takes the inputs {', '.join(example)}: give a .npz file with arrays of these names"
        )
    return {name: _like(arrays[name], tensor, info, path) for name, tensor in example.items()}


def _array(path: Path, info: dict[str, Any]) -> Array:
    if path.suffix == ".csv":
        return _columns(path, info)
    arrays = _loaded(path)
    if len(arrays) != 1 and "inputs" not in arrays:
        raise DataError(
            f"{path} holds {', '.join(arrays) or 'nothing'}: give one array, or call that of inputs `inputs`"
        )
    return arrays.get("inputs", next(iter(arrays.values())))


def _columns(path: Path, info: dict[str, Any]) -> Array:
    """The columns that the job learned from, if the file names them; else all of them."""
    header, table = read(path)
    wanted = info.get("columns", header)
    missing = [name for name in wanted if name not in header]
    if missing and len(header) != len(wanted):
        raise DataError(f"{path} has no column `{missing[0]}`, which the model was trained on")
    return table if missing else table[:, [header.index(name) for name in wanted]]


def _loaded(path: Path) -> dict[str, Array]:
    if path.suffix not in (".npy", ".npz"):
        raise DataError(f"`{path}` is of no known kind: give a .csv file with a header, or a .npy or .npz file")
    try:
        found = np.load(path, allow_pickle=False)
        return {"inputs": found} if path.suffix == ".npy" else {name: found[name] for name in found.files}
    except OSError as error:
        raise DataError(f"the inputs {path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise DataError(f"the inputs {path} are no plain array of numbers: {error}") from error


def _like(array: Array, example: Tensor, info: dict[str, Any], path: Path) -> Tensor:
    """The rows in the shape and type of the example; bags of ids may be wider or narrower."""
    shape = tuple(example.shape[1:])
    is_ids = not example.is_floating_point()
    if not np.issubdtype(array.dtype, np.number) or not array.ndim or not len(array):
        raise DataError(f"the inputs {path} must be rows of numbers, at least one, not {array.dtype} of {array.shape}")
    rows = array.reshape(len(array), -1)
    if is_ids and len(shape) == 1 and array.ndim == 2:
        shape = (rows.shape[1],)
        _check_ids(rows, info, path)
    elif rows.shape[1] != int(np.prod(shape)):
        raise DataError(f"a row of {path} has {rows.shape[1]} numbers, and the model takes {int(np.prod(shape))}")
    elif "feature_mean" in info:
        rows = (rows - np.array(info["feature_mean"])) / np.array(info["feature_deviation"])
    return torch.from_numpy(np.ascontiguousarray(rows)).to(example.dtype).reshape(len(array), *shape)


def _check_ids(rows: Array, info: dict[str, Any], path: Path) -> None:
    size = info.get("vocabulary_size")
    if (rows != np.floor(rows)).any() or rows.min() < 0 or (size is not None and rows.max() >= size):
        limit = f" below {size}" if size is not None else ""
        raise DataError(f"this model takes ids, whole numbers from 0{limit}, and {path} holds others")
