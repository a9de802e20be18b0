"""From a batch of outputs to evidence: what the metrics need to know of each sample, as float64.

classification  the score of each class, then the label
binary          the logit, then the label
regression      the predictions, then the targets
language        summed negative log likelihood, number of tokens, number of right predictions
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from holdfast.errors import JobError, ModelError
from holdfast.models.losses import IGNORED, token_losses
from holdfast.models.shapes import classes_last, drop_single, like


def evidence(task: str, outputs: Tensor, targets: Tensor) -> Tensor:
    """`[n, evidence_width]` for the n samples of a batch, without a gradient."""
    if not isinstance(outputs, Tensor) or not isinstance(targets, Tensor):
        raise ModelError(
            f"metrics need tensors, but the model gives {type(outputs).__name__} for targets "
            f"of {type(targets).__name__}; return the outputs alone"
        )
    with torch.no_grad():
        return _EVIDENCE[task](outputs.detach(), targets)


def evidence_width(task: str, info: Mapping[str, Any]) -> int:
    """Numbers per sample; `n_outputs` in `info` tells of a model that scores more than the data's classes."""
    if task == "classification":
        num_scores = info.get("n_outputs", info.get("n_classes"))
        if num_scores is None:
            raise JobError("metrics of a classification need `n_classes`; state it in the info of the dataset")
        return int(num_scores) + 1
    return {"binary": 2, "regression": 2 * int(info.get("n_outputs", 1)), "language": 3}[task]


def _of_classification(outputs: Tensor, targets: Tensor) -> Tensor:
    scores = classes_last(outputs, targets)
    if targets.ndim != 1:
        raise ModelError(
            f"metrics of a classification need one label per sample, not targets of shape "
            f'{tuple(targets.shape)}; state the task "language" in the dataset'
        )
    return _columns(scores, targets)


def _of_binary(outputs: Tensor, targets: Tensor) -> Tensor:
    labels = drop_single(targets)
    if outputs.shape == (len(labels), 2):
        wide = outputs.double()
        return _columns(wide[:, 1] - wide[:, 0], labels)
    return _columns(like(outputs, labels), labels)


def _of_regression(outputs: Tensor, targets: Tensor) -> Tensor:
    return _columns(like(outputs, targets), targets)


def _of_language(outputs: Tensor, targets: Tensor) -> Tensor:
    scores, labels = classes_last(outputs, targets).float(), targets.long()
    per_token = (token_losses(scores, labels), labels != IGNORED, scores.argmax(-1) == labels)
    return _columns(*(column.double().flatten(1).sum(1) for column in per_token))


def _columns(*parts: Tensor) -> Tensor:
    return torch.cat([part.double().unsqueeze(-1).flatten(1) for part in parts], dim=1)


_EVIDENCE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "classification": _of_classification,
    "binary": _of_binary,
    "regression": _of_regression,
    "language": _of_language,
}
