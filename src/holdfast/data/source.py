"""What a data set is to the rest of the house: a length, and a fetch of the samples with given indices.

`as_dataset` (adapt.py) makes one of whatever the user has. A batch is a tree: a tensor, or nested dicts,
tuples and lists of tensors, whose first dimension is the samples.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch

from holdfast.data.order import Indices
from holdfast.errors import DataError

Tree = Any  # a tensor, or dicts, tuples and lists of trees; as a recursive type it would need casts at every use


@runtime_checkable
class Source(Protocol):
    def __len__(self) -> int: ...

    def fetch(self, indices: Indices) -> tuple[Tree, Tree]:
        """The inputs and targets of these samples, in this order.

        A function of the indices, and of torch's random state, which the caller sets where it matters.
        Never called from two threads at once. The caller may write to what it gets.
        """
        ...


@dataclass(frozen=True)
class Dataset:
    """Samples to learn from and, if there are any, samples to be judged by.

    `info` tells the model what it need not be told twice, as far as it is known: n_features, n_classes,
    vocabulary_size, task ("classification", "binary", "regression" or "language"), and what the source adds.
    """

    train: Source
    test: Source | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part, source in (("training", self.train), ("test", self.test)):
            if source is not None and len(source) == 0:
                raise DataError(f"the {part} data are empty: a data set needs at least one sample")


class TensorSource:
    """Samples that are held in memory as tensors."""

    def __init__(self, inputs: Tree, targets: Tree) -> None:
        lengths = [len(tensor) if tensor.dim() else None for tensor in leaves((inputs, targets))]
        if not lengths or None in lengths or len(set(lengths)) > 1:
            raise DataError(
                f"the first dimension of inputs and targets must be the samples, of one number, not {lengths}"
            )
        self.inputs = inputs
        self.targets = targets
        self._length = lengths[0] or 0

    def __len__(self) -> int:
        return self._length

    def fetch(self, indices: Indices) -> tuple[Tree, Tree]:
        index = torch.from_numpy(indices)
        if isinstance(self.inputs, torch.Tensor) and isinstance(self.targets, torch.Tensor):
            return self.inputs.index_select(0, index), self.targets.index_select(0, index)
        return self._select(self.inputs, index), self._select(self.targets, index)

    def _select(self, tree: Tree, index: torch.Tensor) -> Tree:
        return map_leaves(lambda tensor: tensor.index_select(0, index), tree)


def map_leaves(change: Callable[[Any], Any], tree: Tree) -> Tree:
    """The same tree with each leaf changed; dicts, tuples (also named ones) and lists are branches."""
    if isinstance(tree, dict):
        return {key: map_leaves(change, value) for key, value in tree.items()}
    if isinstance(tree, tuple):
        values = [map_leaves(change, value) for value in tree]
        return type(tree)(*values) if hasattr(tree, "_fields") else tuple(values)
    if isinstance(tree, list):
        return [map_leaves(change, value) for value in tree]
    return change(tree)


def leaves(tree: Tree) -> Iterator[Any]:
    """The leaves of a tree, in the order in which they are written down."""
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    if not isinstance(tree, tuple | list):
        yield tree
        return
    for branch in tree:
        yield from leaves(branch)
