"""The shapes that outputs and targets may have, brought to one form for losses and metrics alike."""

from torch import Tensor

from holdfast.errors import ModelError


def drop_single(outputs: Tensor) -> Tensor:
    """`[n, 1]` becomes `[n]`, as the targets of a single output are."""
    return outputs.squeeze(-1) if outputs.ndim > 1 and outputs.shape[-1] == 1 else outputs


def classes_last(outputs: Tensor, targets: Tensor) -> Tensor:
    """Scores `[n, ..., classes]` for targets `[n, ...]`, from that form or from `[n, classes, ...]`.

    Where both readings fit, the classes are taken to be last.
    """
    if outputs.shape[:-1] == targets.shape:
        return outputs
    if outputs.ndim == targets.ndim + 1 and (outputs.shape[0], *outputs.shape[2:]) == tuple(targets.shape):
        return outputs.movedim(1, -1)
    raise ModelError(
        f"outputs of shape {tuple(outputs.shape)} do not fit targets of shape {tuple(targets.shape)}; "
        "a classifier gives one score per class: outputs [n, ..., classes] for targets [n, ...]"
    )


def like(outputs: Tensor, targets: Tensor) -> Tensor:
    """Outputs in the shape of the targets: `[n, 1]` and `[n]` mean the same, all else must agree."""
    if outputs.shape == targets.shape:
        return outputs
    if drop_single(outputs).shape == drop_single(targets).shape:
        return outputs.reshape(targets.shape)
    raise ModelError(
        f"outputs of shape {tuple(outputs.shape)} do not fit targets of shape {tuple(targets.shape)}; "
        "the model must give one output per target"
    )
