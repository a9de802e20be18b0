"""What is measured side by side, and the goals it is judged by. One contest is one name for `--only`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Literal

import ours
import peers
from cases import CASES
from steady import MIN_STEPS

_RATE = "samples/s"


@dataclass(frozen=True)
class Side:
    """One competitor: `measure(steps)` runs it once, and gives one value for each of its quantities."""

    quantities: tuple[str, ...]
    measure: Callable[[int], Sequence[float]]


@dataclass(frozen=True)
class Goal:
    """A bound on the ratio of two quantities of one round; without a bound it is shown, not judged."""

    text: str
    over: str
    under: str
    sense: Literal["≥", "≤"] = "≥"
    bound: float | None = None

    def met(self, ratio: float) -> bool:
        assert self.bound is not None
        return ratio >= self.bound if self.sense == "≥" else ratio <= self.bound


@dataclass(frozen=True)
class Contest:
    """Its sides take turns in every round. `steps` says how many steps fill so many seconds of work."""

    title: str
    sides: tuple[Side, ...]
    goals: tuple[Goal, ...]
    steps: Callable[[float], int]
    units: Mapping[str, str]


def _steps_for(case: str, calibration_steps: int, seconds: float) -> int:
    """Enough for the fastest side: one process, slowed by no other, that keeps the memory it has."""
    rate = peers.alone_rate(case, calibration_steps, 1, peers.ALLOCATOR)
    steps_per_s = rate / CASES[case].batch
    return max(MIN_STEPS, ceil(seconds * steps_per_s * 10 / 9))  # a tenth is warm-up


def _side(name: str, measure: Callable[[str, int], float], case: str) -> Side:
    return Side((name,), lambda steps: [measure(case, steps)])


_HOLDFAST, _HOLDFAST_ONE = "Holdfast, 2 workers", "Holdfast, 1 worker"
_DDP, _CEILING, _LOOP = "DDP + gloo", "ceiling: 2 processes that never talk", "hand-written loop, 1 process"
_TUNED = " (with Holdfast's allocator settings)"


def _throughput(case: str, title: str, over_ddp: float, of_ceiling: float) -> Contest:
    tuned = peers.ALLOCATOR
    sides = (
        _side(_DDP, peers.ddp_rate, case),
        _side(_HOLDFAST, ours.rate, case),
        _side(_CEILING, partial(peers.alone_rate, processes=2), case),
        _side(_LOOP, partial(peers.alone_rate, processes=1), case),
        _side(_HOLDFAST_ONE, ours.one_worker_rate, case),
        _side(_DDP + _TUNED, partial(peers.ddp_rate, environment=tuned), case),
        _side(_CEILING + _TUNED, partial(peers.alone_rate, processes=2, environment=tuned), case),
        _side(_LOOP + _TUNED, partial(peers.alone_rate, processes=1, environment=tuned), case),
    )
    goals = (
        *_against("samples/s ÷ DDP + gloo", _HOLDFAST, _DDP, over_ddp),
        *_against("share of the ceiling", _HOLDFAST, _CEILING, of_ceiling),
        *_against("one worker ÷ hand-written loop", _HOLDFAST_ONE, _LOOP, 0.97),
    )
    units = {name: _RATE for side in sides for name in side.quantities}
    return Contest(title, sides, goals, partial(_steps_for, case, 40), units)


def _against(text: str, holdfast: str, peer: str, bound: float) -> tuple[Goal, Goal]:
    """The goal, and the same ratio to a peer whose allocator is set as Holdfast sets its own."""
    return Goal(text, holdfast, peer, "≥", bound), Goal(text + _TUNED, holdfast, peer + _TUNED)


def _promise() -> Contest:
    case, names = "mlp_32", ("canonical tree, R = W", "unordered sum")
    sides = (_side(names[0], ours.rate, case), _side(names[1], ours.unordered_rate, case))
    goals = (Goal("samples/s, canonical ÷ unordered", *names, "≥", 0.98),)
    title = "Price of the promise, MLP, batch 32 per worker"
    return Contest(title, sides, goals, partial(_steps_for, case, 40), dict.fromkeys(names, _RATE))


def _replicas() -> Contest:
    """Small batches cost more a sample whoever computes them, so the hand-written loop shows what is the engine's."""
    case = "mlp_128"
    few, many = "R = W", "R = 4 W"
    whole, parts = "ceiling, whole batches", "ceiling, gradients of 4 micro-batches accumulated"
    sides = (
        _side(many, ours.quarters_rate, case),
        _side(few, ours.rate, case),
        _side(parts, partial(peers.alone_rate, processes=2, parts=4), case),
        _side(whole, partial(peers.alone_rate, processes=2), case),
    )
    goals = (
        Goal("samples/s, R = 4 W ÷ R = W", many, few, "≥", 0.90),
        Goal("the same of two hand-written processes that never talk", parts, whole),
        Goal("R = 4 W ÷ those processes with 4 micro-batches", many, parts),
    )
    title = "More replicas than workers, MLP, batch 128 per worker"
    units = dict.fromkeys((many, few, parts, whole), _RATE)
    return Contest(title, sides, goals, partial(_steps_for, case, 40), units)


def _start() -> Contest:
    names = holdfast, torchrun, ray = "Holdfast", "torchrun", "Ray Train"
    sides = (
        Side((torchrun,), lambda steps: [peers.torchrun_start_s()]),
        Side((holdfast,), lambda steps: [ours.first_step_s()]),
        Side((ray,), lambda steps: [peers.ray_start_s()]),
    )
    goals = (
        Goal("time to first step ÷ torchrun's", holdfast, torchrun, "≤", 1.0),
        Goal("time to first step ÷ Ray Train's", holdfast, ray, "≤", 0.2),
    )
    title = "From command to first step, MLP, 2 workers"
    return Contest(title, sides, goals, lambda seconds: 1, dict.fromkeys(names, "s"))


def _memory() -> Contest:
    case, names = "mlp_100m", ("Holdfast, all its processes", "DDP, its 4 ranks")
    sides = (_gigabytes(names[1], peers.ddp_peak_bytes, case), _gigabytes(names[0], ours.peak_bytes, case))
    goals = (Goal("peak memory ÷ DDP's", *names, "≤", 0.55),)
    title = "Peak memory (PSS), AdamW, MLP of 100 million parameters, 4 workers"
    return Contest(title, sides, goals, lambda seconds: 8, dict.fromkeys(names, "GB"))


def _gigabytes(name: str, measure: Callable[[str, int], float], case: str) -> Side:
    return Side((name,), lambda steps: [measure(case, steps) / 1e9])


_STATE_BYTES = 83_623_000 * 3 * 4
_WITH, _WITHOUT, _COPY = "with one checkpoint", "without", "plain copy of the state"
_STALL, _NO_STALL = "longest stall, with one checkpoint", "longest stall, without"


def _checkpoint() -> Contest:
    case = "mlp_1gb"
    sides = (
        Side((_WITHOUT, _NO_STALL), partial(ours.without_checkpoint, case)),
        Side((_WITH, _STALL), partial(ours.with_one_checkpoint, case)),
        Side((_COPY,), lambda steps: [peers.copy_s(_STATE_BYTES)]),
    )
    goals = (
        Goal("samples/s over a minute with one checkpoint ÷ without", _WITH, _WITHOUT, "≥", 0.98),
        Goal("longest single stall ÷ a plain copy of the state", _STALL, _COPY, "≤", 1.0),
        Goal("the same stall in runs without a checkpoint", _NO_STALL, _COPY),
    )
    return Contest(
        "Asynchronous checkpoint of 1 GB of state, 2 workers",
        sides,
        goals,
        lambda seconds: _steps_for(case, 8, _CHECKPOINT_STRETCH * seconds),
        {_WITH: _RATE, _WITHOUT: _RATE, _COPY: "s", _STALL: "s", _NO_STALL: "s"},
    )


_CHECKPOINT_STRETCH = 20
"""With the usual 3 s of work per repeat, a minute."""


CONTESTS: dict[str, Contest] = {
    "mlp_32": _throughput("mlp_32", "MLP 784-2048-2048-10, AdamW, batch 32 per worker", 1.8, 0.90),
    "mlp_128": _throughput("mlp_128", "MLP 784-2048-2048-10, AdamW, batch 128 per worker", 1.3, 0.97),
    "bag_256": _throughput("bag_256", "EmbeddingBag(200000, 64)-128-2, AdamW, 20 ids, batch 256 per worker", 2.1, 0.92),
    "gpt_12": _throughput(
        "gpt_12", "GPT, 4 layers, 4 heads, 128 wide, context 64, AdamW, batch 12 per worker", 1.2, 0.97
    ),
    "promise": _promise(),
    "replicas": _replicas(),
    "start": _start(),
    "memory": _memory(),
    "checkpoint": _checkpoint(),
}
