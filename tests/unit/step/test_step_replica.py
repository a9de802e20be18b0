"""What a replica does, and what it says when it cannot."""

import random
import re
from typing import Any

import numpy as np
import pytest
import torch
from rig import job_of, noise, rig
from torch import Tensor, nn

from holdfast.errors import DataError, ModelError, RunError
from holdfast.job import Job
from holdfast.step.replica import call, seed_all


class Items:
    """A data set of which one item cannot be read."""

    def __init__(self, broken: int | None = None) -> None:
        self.broken = broken

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if index == self.broken:
            raise OSError("the disk is gone")
        return noise(3, seed=index), noise(1, seed=100 + index)


class Noisy(nn.Module):
    """Draws from every random source that the promise covers."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 1)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(self.drop(x)) * random.random() * float(np.random.rand()) * torch.rand(())


def linear() -> nn.Module:
    return nn.Linear(3, 1)


def test_a_loss_that_is_not_finite_names_step_replica_and_samples() -> None:
    inputs = noise(24, 3)
    inputs[17] = float("nan")
    with rig(job_of(linear, inputs, noise(24, 1, seed=1))) as run:
        hands = run.hands(0)
        step, replica = where(run, 17)
        samples = hands.replica.order.slice(step, replica, 4).tolist()
        before = run.persistent()
        with pytest.raises(RunError) as caught:
            run.gather(hands, step)
        assert str(caught.value) == (
            "the loss is nan, so training stopped before this step changed anything "
            f"(step {step}, replica {replica}, samples {', '.join(map(str, samples))})"
        )
        assert run.persistent() == before


def test_an_item_that_fails_is_named_with_its_replica() -> None:
    job = Job(model=linear, data=Items(broken=5), loss="mse", replicas=4, batch=12, steps=2, optimizer="sgd")
    with rig(job) as run:
        step, replica = where(run, 5)
        wanted = f"item 5 of the data set failed: OSError: the disk is gone (step {step}, replica {replica}, samples "
        with pytest.raises(DataError, match=re.escape(wanted)):
            run.hands(0).replica.compute(step, replica, 0, adding=False)


def test_an_error_in_the_module_is_a_model_error_with_its_place() -> None:
    with (
        rig(job_of(linear, noise(24, 4), noise(24, 1, seed=1))) as run,
        pytest.raises(ModelError, match=r"^RuntimeError: mat1 and mat2.*\(step 0, replica 1, samples \d+, \d+, \d+\)$"),
    ):
        run.hands(0).replica.compute(0, 1, 0, adding=False)


def test_many_samples_are_not_all_listed() -> None:
    inputs = torch.full((64, 3), float("inf"))
    with (
        rig(job_of(linear, inputs, noise(64, 1), batch=64)) as run,
        pytest.raises(RunError, match=r"samples (\d+, ){8}…\)$"),
    ):
        run.hands(0).replica.compute(0, 0, 0, adding=False)


def test_randomness_depends_on_seed_step_and_replica_alone() -> None:
    with rig(job_of(Noisy, noise(24, 3), noise(24, 1, seed=1))) as run:
        first, second = run.hands(0), run.hands(1)
        seen = {}
        for step, replica in [(0, 0), (0, 1), (1, 0), (1, 1)]:
            first.replica.compute(step, replica, 0, adding=False)
            seen[step, replica] = run.memory.slot(0).gradient.tolist()
        torch.manual_seed(99)
        for step, replica in [(1, 1), (0, 1)]:
            second.replica.compute(step, replica, 1, adding=False)
            assert run.memory.slot(1).gradient.tolist() == seen[step, replica]
        assert len({str(gradient) for gradient in seen.values()}) == 4


def test_every_random_source_is_seeded() -> None:
    def draw() -> tuple[Any, ...]:
        return torch.rand(2).tolist(), np.random.rand(2).tolist(), random.random()

    seed_all(2**63 + 5)
    first = draw()
    assert draw() != first
    seed_all(2**63 + 5)
    assert draw() == first


def test_statistics_are_sums_and_counts() -> None:
    targets = noise(24, 1, seed=1)
    with rig(job_of(linear, noise(24, 3), targets)) as run:
        hands = run.hands(0)
        run.gather(hands, 0)
        run.apply(hands, 0)
        total, count = hands.applier.statistics()
        fresh = run.hands(1)
        samples = torch.from_numpy(fresh.replica.order.indices(0).copy())
    assert count == 12
    with rig(job_of(linear, noise(24, 3), targets)) as run:
        outputs = run.work.model(noise(24, 3)[samples])
        assert total == pytest.approx(((outputs - targets[samples]) ** 2).sum().item(), rel=1e-5)


def test_buffers_move_by_the_weighted_mean_of_the_replicas() -> None:
    """Of 14 samples the second step has 2, so its replicas have counts of 0 and 1, and 12 make 3 each."""

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 1)
            self.register_buffer("mean", torch.ones(3))
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
            self.register_buffer("limit", torch.tensor(float("inf")))

        def forward(self, x: Tensor) -> Tensor:
            self.mean += 0.1 * (x.mean(0) - self.mean)
            self.calls += 1
            return self.inner(x)

    inputs = noise(14, 3)
    with rig(job_of(Counting, inputs, noise(14, 1, seed=1))) as run:
        hands = run.hands(0)
        mean = torch.ones(3, dtype=torch.float64)
        for step in range(4):
            run.gather(hands, step)
            run.apply(hands, step)
            # All samples weigh the same, so the mean over replicas is the one over the whole batch.
            batch = inputs[torch.from_numpy(hands.replica.order.indices(step).copy())]
            mean = mean + 0.1 * (batch.double().mean(0) - mean)
            torch.testing.assert_close(run.memory.buffers()["mean"].double(), mean, rtol=1e-5, atol=1e-6)
        # In each second step replica 0 has no samples, and the whole numbers are replica 0's.
        assert run.memory.buffers()["calls"].item() == 2
        assert run.memory.buffers()["limit"].item() == float("inf")


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [((1, 2), "1 2"), ([1, 2], "1 2"), ({"b": 1, "a": 2}, "2 1"), (torch.tensor(7), "7 None")],
)
def test_inputs_become_arguments(inputs: Any, expected: str) -> None:
    class Shown(nn.Module):
        def forward(self, a: Any, b: Any = None) -> str:
            return f"{int(a)} {b}"

    assert call(Shown(), inputs) == expected


def where(run: Any, sample: int) -> tuple[int, int]:
    order = run.hands(1).replica.order
    return next((t, r) for t in range(2) for r in range(4) if sample in order.slice(t, r, 4))
