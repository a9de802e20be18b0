"""Update rules: how a stretch of parameters changes, given its gradient.

An elementwise rule works on any stretch; torch's own fused kernels do the arithmetic. Every rule changes parameters
and state in place, is a function of its arguments alone, and leaves the gradient as it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class Elementwise:
    """A rule with as many state buffers, each as long as the parameters, as it has initial values."""

    initial: tuple[float, ...]
    update: Update


def elementwise(spec: AnyOptimizer) -> Elementwise | None:
    """The rule of the spec; None when the optimizer must see whole tensors."""
    match spec:
        case AdamW():
            return Elementwise((0.0, 0.0), _adam(spec, torch._fused_adamw_))
        case Adam():
            return Elementwise((0.0, 0.0), _adam(spec, torch._fused_adam_))
        case SGD():
            return Elementwise((0.0,) if spec.momentum else (), _sgd(spec))
        case Adagrad():
            return Elementwise((spec.initial_accumulator_value,), _adagrad(spec))
        case RMSprop():
            return Elementwise((0.0,) * (1 + (spec.momentum > 0) + spec.centered), _rmsprop(spec))
        case _:
            return None


def _adam(spec: Adam | AdamW, kernel: Callable[..., Any]) -> Update:
    beta1, beta2 = spec.betas
    count = torch.zeros(())
    counted = 0

    def update(parameters: Tensor, gradient: Tensor, state: Sequence[Tensor], moment: Moment) -> None:
        nonlocal counted
        if counted != moment.step:
            count.fill_(moment.step)
            counted = moment.step
        kernel(
            [parameters],
            [gradient],
            [state[0]],
            [state[1]],
            [],
            [count],
            lr=moment.lr,
            beta1=beta1,
            beta2=beta2,
            weight_decay=moment.weight_decay,
            eps=spec.eps,
            amsgrad=False,
            maximize=False,
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
