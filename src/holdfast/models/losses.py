"""Losses, by name. A loss states how much it sums over how many samples; it never hides a division.

The contract, for built-in and user losses alike: `loss(outputs, targets)` returns
- one loss per sample (or per token, of any shape), or
- a 0-dim tensor: the mean over the samples it was given, or
- a pair `(sum, count)`.
`sum_and_count` brings the three to one form.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from holdfast.errors import DataError, JobError, ModelError
from holdfast.job.near import hint
from holdfast.models.named import users_own
from holdfast.models.shapes import classes_last, like

LossValue: TypeAlias = Tensor | tuple[Tensor, Any]
Loss: TypeAlias = Callable[[Any, Any], LossValue]

IGNORED = -100
"""A token target with this value (torch's own mark for padding) is neither summed nor counted."""


def loss_for(use: str, info: Mapping[str, Any], base_dir: Path, live: object | None = None) -> Loss:
    """The loss that `train.loss` means: "auto" follows the dataset's task; else a name or an import path."""
    if live is not None:
        return _users(use, live)
    name = _of_task(info.get("task")) if use == "auto" else use
    if name in LOSSES:
        return LOSSES[name]
    return _users(name, users_own("loss", name, [*LOSSES, "auto"], base_dir))


def sum_and_count(value: LossValue, num_samples: int) -> tuple[Tensor, int]:
    """The sum to differentiate and what it sums over; the loss was given `num_samples` samples."""
    if isinstance(value, tuple):
        total, count = value
        return total, int(count)
    if not isinstance(value, Tensor):
        raise ModelError(f"the loss gave a {type(value).__name__}; return a tensor: one loss per sample, or their mean")
    if value.ndim == 0:
        return value * num_samples, num_samples
    return value.sum(), value.numel()


def cross_entropy(outputs: Tensor, targets: Tensor) -> LossValue:
    """Per sample; over sequences the sum and the number of tokens, `IGNORED` ones left out."""
    if targets.is_floating_point() and targets.shape == outputs.shape:
        return functional.cross_entropy(_wide(outputs), targets, reduction="none")
    scores, labels = _wide(classes_last(outputs, targets)), _labels(targets)
    try:
        losses = token_losses(scores, labels)
    except IndexError as error:
        raise DataError(_out_of_range(scores.shape[-1], labels)) from error
    return losses if labels.ndim == 1 else (losses.sum(), int((labels != IGNORED).sum()))


def token_losses(scores: Tensor, labels: Tensor) -> Tensor:
    """Negative log likelihoods in the shape of the labels, 0 where they are `IGNORED`."""
    flat, wanted = scores.flatten(0, -2), labels.flatten()
    losses = functional.cross_entropy(flat, wanted, ignore_index=IGNORED, reduction="none")
    return losses.view_as(labels)


def _elementwise(function: Callable[..., Tensor], outputs: Tensor, targets: Tensor) -> Tensor:
    """Per sample; a sample with several outputs counts with their mean."""
    predictions = _wide(like(outputs, targets))
    losses = function(predictions, targets.to(predictions.dtype), reduction="none")
    return losses if losses.ndim == 1 else losses.flatten(1).mean(1)


LOSSES: dict[str, Loss] = {
    "cross_entropy": cross_entropy,
    # Outputs are logits here: the model has no sigmoid at its end.
    "binary_cross_entropy": partial(_elementwise, functional.binary_cross_entropy_with_logits),
    "mse": partial(_elementwise, functional.mse_loss),
    "mae": partial(_elementwise, functional.l1_loss),
    "huber": partial(_elementwise, functional.huber_loss),
}

_LOSS_OF_TASK = {
    "classification": "cross_entropy",
    "binary": "binary_cross_entropy",
    "regression": "mse",
    "language": "cross_entropy",
}


def _of_task(task: str | None) -> str:
    if task is None:
        raise JobError('train.loss is "auto", but the dataset does not say its task; name a loss: ' + ", ".join(LOSSES))
    if task not in _LOSS_OF_TASK:
        raise JobError(f"unknown task `{task}` of the dataset{hint(task, _LOSS_OF_TASK)}")
    return _LOSS_OF_TASK[task]


def _users(use: str, found: object) -> Loss:
    loss = found() if isinstance(found, type) and issubclass(found, nn.Module) else found
    if not callable(loss):
        raise JobError(f"loss `{use}` is a {type(loss).__name__}; give a function of (outputs, targets)")
    if getattr(loss, "reduction", None) == "sum":
        raise JobError(f"loss `{use}` sums over its samples without counting them; use reduction='none' or 'mean'")
    if isinstance(loss, nn.Module) and any(True for _ in loss.parameters()):
        raise ModelError(f"loss `{use}` has parameters of its own, which would not be trained; move them to the model")
    return loss


def _labels(targets: Tensor) -> Tensor:
    if targets.is_floating_point() and not torch.equal(targets, targets.round()):
        raise DataError(
            'cross_entropy needs whole-number class targets, but some are fractions; for quantities use loss = "mse"'
        )
    return targets.long()


def _out_of_range(num_classes: int, labels: Tensor) -> str:
    return (
        f"targets go from {labels.min()} to {labels.max()}, but the model scores the classes "
        f"0 to {num_classes - 1}; number the classes from 0, or give the model more outputs"
    )


def _wide(outputs: Tensor) -> Tensor:
    """Half precision ends before the loss: its exponentials and sums need fp32."""
    return outputs.float() if outputs.dtype in (torch.bfloat16, torch.float16) else outputs
