"""A whole training, equal to the plain loop that anybody would write, for every optimizer and every schedule."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from rig import job_of, noise, rig
from torch import Tensor, nn
from torch.optim import lr_scheduler as of_torch

from holdfast.data.hashing import derive
from holdfast.data.order import Order
from holdfast.job import (
    SGD,
    Adagrad,
    Adam,
    AdamW,
    AnyOptimizer,
    AnySchedule,
    Constant,
    Cosine,
    Linear,
    OneCycle,
    RMSprop,
    StepDecay,
    TorchOptimizer,
)
from holdfast.job.optimizer import Group

STEPS = 15
SAMPLES = 50

Make = Callable[[Any], torch.optim.Optimizer]

OPTIMIZERS: list[tuple[AnyOptimizer, Make]] = [
    (AdamW(lr=0.01), lambda p: torch.optim.AdamW(p, lr=0.01)),
    (Adam(lr=0.01, weight_decay=0.1), lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1)),
    (SGD(lr=0.1, weight_decay=0.01), lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.01)),
    (SGD(lr=0.05, momentum=0.9), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
    (SGD(lr=0.05, momentum=0.9, nesterov=True), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True)),
    (Adagrad(lr=0.05, lr_decay=0.01), lambda p: torch.optim.Adagrad(p, lr=0.05, lr_decay=0.01)),
    (RMSprop(lr=0.01), lambda p: torch.optim.RMSprop(p, lr=0.01)),
    (
        RMSprop(lr=0.003, momentum=0.9, centered=True),
        lambda p: torch.optim.RMSprop(p, lr=0.003, momentum=0.9, centered=True),
    ),
    (TorchOptimizer(use="torch.optim:Muon", lr=0.05), lambda p: torch.optim.Muon(p, lr=0.05, weight_decay=0.0)),
    (
        TorchOptimizer(use="torch.optim:Adafactor", lr=0.01, weight_decay=0.1),
        lambda p: torch.optim.Adafactor(p, lr=0.01, weight_decay=0.1),
    ),
    (TorchOptimizer(use="torch.optim:NAdam", lr=0.01), lambda p: torch.optim.NAdam(p, lr=0.01)),
]

SCHEDULES: list[tuple[AnySchedule, Callable[[Any], of_torch.LRScheduler]]] = [
    (Constant(), lambda o: of_torch.ConstantLR(o, factor=1.0)),
    (Constant(warmup_steps=4), lambda o: warmed(o, of_torch.ConstantLR(o, factor=1.0))),
    (Cosine(min_ratio=0.1), lambda o: of_torch.LambdaLR(o, lambda t: 0.55 + 0.45 * cosine(t / (STEPS - 1)))),
    (Linear(min_ratio=0.2), lambda o: of_torch.LinearLR(o, 1.0, 0.2, total_iters=STEPS - 1)),
    (StepDecay(every_steps=4, gamma=0.5), lambda o: of_torch.StepLR(o, 4, 0.5)),
    (
        OneCycle(peak_at=0.5, start_ratio=0.04, end_ratio=0.001),
        lambda o: of_torch.OneCycleLR(
            o, o.defaults["lr"], STEPS, pct_start=8 / STEPS, div_factor=25, final_div_factor=40, cycle_momentum=False
        ),
    ),
]


@pytest.mark.parametrize(("schedule", "make_schedule"), SCHEDULES, ids=lambda case: getattr(case, "kind", ""))
@pytest.mark.parametrize(
    ("optimizer", "make_optimizer"), OPTIMIZERS, ids=lambda case: getattr(case, "use", getattr(case, "kind", ""))
)
def test_training_is_the_plain_loop(optimizer: Any, make_optimizer: Make, schedule: Any, make_schedule: Any) -> None:
    inputs, targets = noise(SAMPLES, 6), noise(SAMPLES, 2, seed=1)
    job = job_of(net, inputs, targets, steps=STEPS, optimizer=optimizer, schedule=schedule)
    with rig(job) as run:
        plain = plain_copy(run.parameters())
        run.train(run.hands(0))
        learnt = run.parameters()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = {name: value.detach().clone() for name, value in plain.named_parameters()}
        opt = make_optimizer(list(plain.parameters()))
        plainly(plain, opt, make_schedule(opt), inputs, targets)
    # Muon itself computes in bfloat16, where the last bit is the eighth.
    room = 5e-3 if "Muon" in repr(optimizer) else 2e-4
    for name, wanted in plain.named_parameters():
        assert (wanted - started[name]).abs().max() > 20 * room
        torch.testing.assert_close(learnt[name], wanted.detach(), rtol=room, atol=room)


@pytest.mark.parametrize("clip", [{"clip_norm": 0.1}, {"clip_value": 0.02}, {"clip_norm": 0.2, "clip_value": 0.02}])
def test_clipping_is_torchs(clip: dict[str, float]) -> None:
    inputs, targets = noise(SAMPLES, 6), noise(SAMPLES, 2, seed=1)
    with rig(job_of(net, inputs, targets, steps=STEPS, optimizer=SGD(lr=0.5), **clip)) as run:
        plain = plain_copy(run.parameters())
        run.train(run.hands(0))
        learnt = run.parameters()
    opt = torch.optim.SGD(plain.parameters(), lr=0.5)
    plainly(plain, opt, of_torch.ConstantLR(opt, factor=1.0), inputs, targets, **clip)
    for name, wanted in plain.named_parameters():
        torch.testing.assert_close(learnt[name], wanted.detach(), rtol=1e-4, atol=1e-5)


def test_groups_are_torchs_parameter_groups(small_blocks: None) -> None:
    inputs, targets = noise(SAMPLES, 6), noise(SAMPLES, 2, seed=1)
    groups = (Group(match="2.*", lr_scale=0.1), Group(match="*", weight_decay=0.5))
    with rig(job_of(net, inputs, targets, steps=STEPS, optimizer=AdamW(lr=0.01, groups=groups))) as run:
        plain = plain_copy(run.parameters())
        run.train(run.hands(0))
        learnt = run.parameters()
    first, second = plain[0].weight, plain[2].weight
    opt = torch.optim.AdamW([{"params": [second], "lr": 0.001}, {"params": [first], "weight_decay": 0.5}], lr=0.01)
    plainly(plain, opt, of_torch.ConstantLR(opt, factor=1.0), inputs, targets)
    for name, wanted in plain.named_parameters():
        torch.testing.assert_close(learnt[name], wanted.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("replicas", [1, 3, 7, 12])
def test_any_number_of_replicas_is_the_plain_loop(replicas: int) -> None:
    """The 50 samples leave 2 for each fifth step: fewer than the replicas."""
    inputs, targets = noise(SAMPLES, 6), noise(SAMPLES, 2, seed=1)
    with rig(job_of(net, inputs, targets, steps=STEPS, replicas=replicas)) as run:
        plain = plain_copy(run.parameters())
        run.train(run.hands(0))
        learnt = run.parameters()
    opt = torch.optim.SGD(plain.parameters(), lr=0.01)
    plainly(plain, opt, of_torch.ConstantLR(opt, factor=1.0), inputs, targets)
    for name, wanted in plain.named_parameters():
        torch.testing.assert_close(learnt[name], wanted.detach(), rtol=1e-4, atol=1e-6)


def net() -> nn.Module:
    # Smooth everywhere, and without biases, which Muon refuses.
    return nn.Sequential(nn.Linear(6, 8, bias=False), nn.Tanh(), nn.Linear(8, 2, bias=False))


def plain_copy(parameters: dict[str, Tensor]) -> Any:
    plain = net()
    plain.load_state_dict(parameters)
    return plain


def plainly(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: of_torch.LRScheduler,
    inputs: Tensor,
    targets: Tensor,
    clip_norm: float | None = None,
    clip_value: float | None = None,
) -> None:
    order = Order(SAMPLES, 12, derive(0, 3))
    for step in range(STEPS):
        batch = torch.from_numpy(order.indices(step).copy())
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs[batch]), targets[batch]).backward()
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        if clip_value is not None:
            nn.utils.clip_grad_value_(model.parameters(), clip_value)
        optimizer.step()
        schedule.step()


def warmed(optimizer: Any, schedule: of_torch.LRScheduler) -> of_torch.LRScheduler:
    rise = of_torch.LinearLR(optimizer, start_factor=0.2, end_factor=1.0, total_iters=4)
    return of_torch.SequentialLR(optimizer, [rise, schedule], [4])


def cosine(share: float) -> float:
    return float(torch.cos(torch.tensor(torch.pi * share, dtype=torch.float64)))
