"""The learning rate of each step, against torch's own schedulers."""

from collections.abc import Callable

import pytest
import torch
from torch.optim import lr_scheduler as of_torch

from holdfast.job import AnySchedule, Constant, Cosine, Linear, OneCycle, StepDecay
from holdfast.step.schedule import factor

STEPS = 21
Make = Callable[[torch.optim.Optimizer], of_torch.LRScheduler]

CASES: list[tuple[AnySchedule, Make]] = [
    (Constant(), lambda sgd: of_torch.ConstantLR(sgd, factor=1.0)),
    (Cosine(min_ratio=0.1), lambda sgd: of_torch.CosineAnnealingLR(sgd, STEPS - 1, eta_min=0.1)),
    (Linear(min_ratio=0.2), lambda sgd: of_torch.LinearLR(sgd, 1.0, 0.2, total_iters=STEPS - 1)),
    (StepDecay(every_steps=4, gamma=0.5), lambda sgd: of_torch.StepLR(sgd, 4, 0.5)),
    (
        # torch's top is at step pct_start * total - 1, ours at peak_at * (total - 1): here both are step 6.
        OneCycle(peak_at=0.3, start_ratio=0.04, end_ratio=0.001),
        lambda sgd: of_torch.OneCycleLR(
            sgd, 1.0, STEPS, pct_start=7 / STEPS, div_factor=25, final_div_factor=40, cycle_momentum=False
        ),
    ),
]


@pytest.mark.parametrize(("spec", "make"), CASES, ids=lambda case: getattr(case, "kind", ""))
def test_schedule_is_torchs(spec: AnySchedule, make: Make) -> None:
    assert [factor(spec, step, STEPS) for step in range(STEPS)] == pytest.approx(rates(make, STEPS), rel=1e-6)


def test_warm_up_is_torchs() -> None:
    def make(sgd: torch.optim.Optimizer) -> of_torch.LRScheduler:
        rise = of_torch.LinearLR(sgd, start_factor=1 / 6, end_factor=1.0, total_iters=5)
        return of_torch.SequentialLR(sgd, [rise, of_torch.CosineAnnealingLR(sgd, STEPS - 6)], [5])

    spec = Cosine(warmup_steps=5)
    # Only the last values of a closed formula and of a recurrence near zero differ by more than a rounding.
    expected = pytest.approx(rates(make, STEPS), rel=1e-6, abs=1e-9)
    assert [factor(spec, step, STEPS) for step in range(STEPS)] == expected


@pytest.mark.parametrize("warmup_steps", [0, 1, 7])
@pytest.mark.parametrize("steps", [9, 10, 1000])
@pytest.mark.parametrize(
    ("spec", "end"),
    [
        (Cosine(min_ratio=0.25), 0.25),
        (Linear(min_ratio=0.5), 0.5),
        (OneCycle(end_ratio=0.125), 0.125),
    ],
    ids=lambda case: getattr(case, "kind", ""),
)
def test_schedule_ends_at_the_last_step(spec: AnySchedule, end: float, steps: int, warmup_steps: int) -> None:
    warmed = spec.model_copy(update={"warmup_steps": warmup_steps})
    factors = [factor(warmed, step, steps) for step in range(steps)]
    assert factors[-1] == pytest.approx(end)
    assert max(factors) <= 1.0
    assert min(factors) > 0
    assert end not in factors[warmup_steps:-1]


def test_every_schedule_has_a_first_step_when_it_is_the_last() -> None:
    for spec, _ in CASES:
        assert 0 < factor(spec, 0, 1) <= 1


def rates(make: Make, steps: int) -> list[float]:
    sgd = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    schedule = make(sgd)
    found = []
    for _ in range(steps):
        found.append(float(sgd.param_groups[0]["lr"]))
        sgd.step()
        schedule.step()
    return found
