"""From what the user has (tensors, arrays, a map-style data set, a data frame, a pair of them) to a Dataset.

Numbers from outside torch take the types that models expect: 64-bit floats become 32-bit ones and integers
64-bit ones (8-bit inputs, that is images, stay as they are). Tensors are never changed.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from holdfast.data.describe import describe
from holdfast.data.frame import from_frame, is_frame
from holdfast.data.items import ItemSource
from holdfast.data.source import Dataset, Source, TensorSource, leaves, map_leaves
from holdfast.data.tensors import as_tensor
from holdfast.errors import DataError

_ACCEPTED = (
    "a (inputs, targets) pair of tensors or arrays, a data set with __len__ and __getitem__, a data frame, "
    "a (train, test) pair of these, or a holdfast Dataset"
)


def as_dataset(thing: Any) -> Dataset:
    """Adapts anything in _ACCEPTED, without copying tensors; DataError for anything else, and for empty data.

    A pair whose second part is a tensor or an array is (inputs, targets); any other pair is (train, test).
    """
    if isinstance(thing, Dataset):
        return thing
    train, test = thing, None
    if isinstance(thing, tuple):
        train, test = _pair(thing)
    train_source = _as_source(train)
    test_source = None if test is None else _as_source(test)
    dataset = Dataset(train_source, test_source)  # refuses empty parts before anything looks into them
    return Dataset(train_source, test_source, describe(dataset))


def _pair(thing: tuple[Any, ...]) -> tuple[Any, Any]:
    if len(thing) != 2:
        raise DataError(f"the data are a tuple of {len(thing)}, and only pairs are understood: give {_ACCEPTED}")
    return (thing, None) if _is_array(thing[1]) else thing


def _as_source(thing: Any) -> Source:
    for fits, adapt in _ADAPTERS:
        if fits(thing):
            return adapt(thing)
    advice = "it can only be iterated over, and training needs its samples by index" if _only_iterates(thing) else ""
    raise DataError(f"data of type {type(thing).__name__} cannot be used{advice and f' ({advice})'}: give {_ACCEPTED}")


def _is_array(thing: Any) -> bool:
    return isinstance(thing, torch.Tensor | np.ndarray)


def _is_arrays(thing: Any) -> bool:
    return (
        isinstance(thing, tuple)
        and len(thing) == 2
        and _is_array(thing[1])
        and all(_is_array(leaf) for leaf in leaves(thing[0]))
    )


def _is_tensor_dataset(thing: Any) -> bool:
    return type(thing) is torch.utils.data.TensorDataset and len(thing.tensors) == 2


def _is_map_style(thing: Any) -> bool:
    unfit = isinstance(thing, Mapping | str | bytes | type | tuple) or _is_array(thing)
    return not unfit and hasattr(thing, "__len__") and hasattr(thing, "__getitem__")


def _only_iterates(thing: Any) -> bool:
    return hasattr(thing, "__iter__") and not hasattr(thing, "__len__")


def _from_arrays(pair: tuple[Any, Any]) -> Source:
    inputs, targets = pair
    return TensorSource(map_leaves(as_tensor, inputs), as_tensor(targets, target=True))


_ADAPTERS: list[tuple[Callable[[Any], bool], Callable[[Any], Source]]] = [
    (lambda thing: isinstance(thing, Source) and not isinstance(thing, type), lambda thing: thing),
    (is_frame, from_frame),
    (_is_arrays, _from_arrays),
    (_is_tensor_dataset, lambda thing: TensorSource(*thing.tensors)),
    (_is_map_style, ItemSource),
]
