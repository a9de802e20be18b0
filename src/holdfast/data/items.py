"""Any data set that gives one item at a time, as torch's map-style ones do."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from holdfast.data.order import Indices
from holdfast.data.source import Tree, map_leaves
from holdfast.data.tensors import as_tensor
from holdfast.errors import DataError

TARGET_NAMES = ("label", "labels", "target", "targets", "y")

_WANTED = "give (input, target) pairs or dicts"


class ItemSource:
    """Items are (input, target) pairs, or dicts whose target has one of TARGET_NAMES; batches stack them.

    An item must depend on its index and torch's random state alone, which is set for each step and replica:
    an augmentation that draws from elsewhere would differ between workers.
    """

    def __init__(self, items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def fetch(self, indices: Indices) -> tuple[Tree, Tree]:
        if not len(indices):  # a replica may have no samples; its batch still has a shape
            inputs, targets = self.fetch(np.zeros(1, np.int64))
            return map_leaves(lambda leaf: leaf[:0], inputs), map_leaves(lambda leaf: leaf[:0], targets)
        numbers = indices.tolist()
        pairs = [self._pair(index) for index in numbers]
        return _stack([pair[0] for pair in pairs], numbers), _stack([pair[1] for pair in pairs], numbers)

    def _pair(self, index: int) -> tuple[Tree, Tree]:
        try:
            item = self.items[index]
        except Exception as error:
            raise DataError(f"item {index} of the data set failed: {type(error).__name__}: {error}") from error
        inputs, targets = _from_dict(item, index) if isinstance(item, Mapping) else _from_pair(item, index)
        return _numbers(inputs, index, target=False), _numbers(targets, index, target=True)


def _from_pair(item: Any, index: int) -> tuple[Tree, Tree]:
    if not isinstance(item, tuple | list):
        raise DataError(f"item {index} of the data set is of type {type(item).__name__}: {_WANTED}")
    if len(item) != 2:
        raise DataError(f"item {index} of the data set has {len(item)} parts: {_WANTED}")
    return item[0], item[1]


def _from_dict(item: Mapping[str, Any], index: int) -> tuple[Tree, Tree]:
    names = [name for name in TARGET_NAMES if name in item]
    if len(names) != 1 or len(item) < 2:
        raise DataError(
            f"item {index} of the data set has the keys {', '.join(map(str, item))}: "
            f"exactly one must be the target, named one of {', '.join(TARGET_NAMES)}"
        )
    inputs = {key: value for key, value in item.items() if key != names[0]}
    return (next(iter(inputs.values())) if len(inputs) == 1 else inputs), item[names[0]]


def _numbers(tree: Tree, index: int, target: bool) -> Tree:
    try:
        return map_leaves(lambda leaf: as_tensor(leaf, target), tree)
    except DataError as error:
        raise DataError(f"item {index} of the data set cannot be used: {error}; convert it in __getitem__") from None


def _stack(trees: list[Tree], indices: list[int]) -> Tree:
    wanted = _shape(trees[0])
    for tree, index in zip(trees, indices, strict=True):
        if _shape(tree) != wanted:
            raise DataError(
                f"item {index} of the data set has the shape {_shape(tree)} and item {indices[0]} {wanted}: "
                "items of one batch are stacked, so make them equal, for instance by padding"
            )
    return _stack_equal(trees)


def _stack_equal(trees: list[Tree]) -> Tree:
    first = trees[0]
    if isinstance(first, dict):
        return {key: _stack_equal([tree[key] for tree in trees]) for key in first}
    if isinstance(first, tuple | list):
        parts = [_stack_equal([tree[at] for tree in trees]) for at in range(len(first))]
        return parts if isinstance(first, list) else tuple(parts)
    return torch.stack(trees)


def _shape(tree: Tree) -> Any:
    return map_leaves(lambda leaf: list(leaf.shape), tree)
