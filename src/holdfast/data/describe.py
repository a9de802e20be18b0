"""What can be read off data about the model that they need, so that a job need not say it."""

from typing import Any

import torch

from holdfast.data.source import Dataset, TensorSource

_MAX_CLASSES = 100_000  # above it, integers are taken for counts or identities, not for classes


def describe(dataset: Dataset) -> dict[str, Any]:
    """As much of `info` as tensors in memory show; nothing for sources that would have to be read for it.

    Integer targets mean classes, or tokens if they have the shape of integer inputs; floats that are all
    0 or 1 mean a binary task.
    """
    if not isinstance(dataset.train, TensorSource):
        return {}
    inputs, targets = dataset.train.inputs, dataset.train.targets
    if not isinstance(inputs, torch.Tensor) or not isinstance(targets, torch.Tensor):
        return {}
    info = _task(inputs, _all_targets(dataset))
    if inputs.dim() >= 2 and inputs.is_floating_point():
        info["n_features"] = inputs[0].numel()
    return info


def _task(inputs: torch.Tensor, targets: torch.Tensor) -> dict[str, Any]:
    single = targets.dim() == 1 or (targets.dim() == 2 and targets.shape[1] == 1)
    if targets.is_floating_point():
        if single and bool(((targets == 0) | (targets == 1)).all()):
            return {"task": "binary"}
        return {"task": "regression"}
    if targets.dtype == torch.bool:
        return {"task": "binary"}
    highest = int(targets.max())
    if int(targets.min()) < 0 or highest >= _MAX_CLASSES:
        return {}
    if targets.dim() == 1:
        return {"task": "classification", "n_classes": highest + 1}
    if not inputs.is_floating_point() and inputs.shape[1:] == targets.shape[1:]:
        return {"task": "language", "vocabulary_size": max(highest, int(inputs.max())) + 1}
    return {}


def _all_targets(dataset: Dataset) -> torch.Tensor:
    """Of both parts, because a rare class may be in the test data only."""
    parts = [source.targets for source in (dataset.train, dataset.test) if isinstance(source, TensorSource)]
    same_shape = all(part.shape[1:] == parts[0].shape[1:] for part in parts)
    return torch.cat(parts) if same_shape else parts[0]
