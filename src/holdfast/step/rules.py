"""Update rules: how a stretch of parameters changes, given its gradient.

An elementwise rule works on any stretch; torch's own kernels do the arithmetic, but for Adam, which has one that also
writes the undo log. Every rule changes parameters and state in place, is a function of its arguments alone, and leaves
the gradient as it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.rmsprop import rmsprop

from holdfast.job import SGD, Adagrad, Adam, AdamW, AnyOptimizer, RMSprop


@dataclass(frozen=True)
class Moment:
    """The place of an update in the run: `step` counts from 1, `lr` and `weight_decay` are those of the group."""

    step: int
    lr: float
    weight_decay: float


Update = Callable[[Tensor, Tensor, Sequence[Tensor], Moment], None]
Array = np.ndarray[Any, Any]


STRETCH = 128
"""Elements that a rule which saves by itself saves, then updates, at a time."""


@dataclass(frozen=True)
class Log:
    """Where a rule that saves by itself leaves the old values.

    The arrays are as long as the piece, or, to stay in the cache, as one stretch. `saved` says where the stretch ends
    that may be torn: all before that stretch is updated, all behind it is untouched.
    """

    parameters: Array
    state: Sequence[Array]
    saved: Array
    begin: int = 0
    """The elements before this one have been through the step already."""


@dataclass(frozen=True)
class Gradient:
    """`scale` times the sum of one or two parts."""

    parts: Sequence[Array]
    scale: float = 1.0


SavingUpdate = Callable[[Array, Gradient, Sequence[Array], Log, Moment], None]


@dataclass(frozen=True)
class Elementwise:
    """A rule with as many state buffers, each as long as the parameters, as it has initial values.

    It has either an `update`, before which the old values must be saved, or a `saving_update`.
    """

    initial: tuple[float, ...]
    update: Update | None = None
    saving_update: SavingUpdate | None = None


def elementwise(spec: AnyOptimizer) -> Elementwise | None:
    """The rule of the spec; None when the optimizer must see whole tensors."""
    match spec:
        case AdamW() | Adam():
            return Elementwise((0.0, 0.0), saving_update=_adam(spec))
        case SGD():
            return Elementwise((0.0,) if spec.momentum else (), _sgd(spec))
        case Adagrad():
            return Elementwise((spec.initial_accumulator_value,), _adagrad(spec))
        case RMSprop():
            return Elementwise((0.0,) * (1 + (spec.momentum > 0) + spec.centered), _rmsprop(spec))
        case _:
            return None


def prepare(spec: AnyOptimizer) -> None:
    """Load what the rule will need, so that its first update is as fast as the others."""
    if isinstance(spec, Adam | AdamW):
        import holdfast.step.sweep  # noqa: F401  Numba takes its time to load, and only who updates needs it


def _adam(spec: Adam | AdamW) -> SavingUpdate:
    beta1, beta2 = spec.betas
    decoupled = isinstance(spec, AdamW)

    def update(parameters: Array, gradient: Gradient, state: Sequence[Array], log: Log, moment: Moment) -> None:
        from holdfast.step.sweep import sweep

        sweep(
            parameters,
            gradient.parts[0],
            gradient.parts[-1],
            *state,
            log.parameters,
            *log.state,
            log.saved,
            log.begin,
            len(gradient.parts) > 1,
            gradient.scale,
            1.0 - moment.lr * moment.weight_decay if decoupled else 1.0,
            0.0 if decoupled else moment.weight_decay,
            1.0 - beta1,
            beta2,
            1.0 - beta2,
            moment.lr / (1.0 - beta1**moment.step),
            1.0 / sqrt(1.0 - beta2**moment.step),
            spec.eps,
        )

    return update


def _sgd(spec: SGD) -> Update:
    def update(parameters: Tensor, gradient: Tensor, state: Sequence[Tensor], moment: Moment) -> None:
        torch._fused_sgd_(
            [parameters],
            [gradient],
            list(state),
            weight_decay=moment.weight_decay,
            momentum=spec.momentum,
            lr=moment.lr,
            dampening=spec.dampening,
            nesterov=spec.nesterov,
            maximize=False,
            is_first_step=moment.step == 1,
        )

    return update


def _adagrad(spec: Adagrad) -> Update:
    count = torch.zeros(())

    def update(parameters: Tensor, gradient: Tensor, state: Sequence[Tensor], moment: Moment) -> None:
        count.fill_(moment.step)
        torch._fused_adagrad_(
            [parameters],
            [gradient],
            [state[0]],
            [count],
            lr=moment.lr,
            lr_decay=spec.lr_decay,
            weight_decay=moment.weight_decay,
            eps=spec.eps,
            maximize=False,
        )

    return update


def _rmsprop(spec: RMSprop) -> Update:
    def update(parameters: Tensor, gradient: Tensor, state: Sequence[Tensor], moment: Moment) -> None:
        left = list(state)
        rmsprop(
            [parameters],
            [gradient],
            [left.pop(0)],
            [left.pop(0)] if spec.centered else [],
            [left.pop(0)] if spec.momentum else [],
            [torch.tensor(float(moment.step - 1))],
            foreach=False,
            lr=moment.lr,
            alpha=spec.alpha,
            eps=spec.eps,
            weight_decay=moment.weight_decay,
            momentum=spec.momentum,
            centered=spec.centered,
        )

    return update
