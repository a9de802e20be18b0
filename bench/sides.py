"""The sides of `make bench-faults`: which blows each gets, and what becomes lines of the report."""

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Protocol, TypeVar

import storm as storms
import struck_torchft as ft
import struck_torchrun as tr
from costs import Cost, ends
from faults_report import Goal, Measured, Seen
from marks import Mark, steps_s
from packs import PATIENCE_S
from struck_holdfast import HoldfastRun, leftovers, segments, strike_captain, strike_worker, train

from holdfast.ledger import Ledger

_STEP, _KILL, _STOP = "Undisturbed step", "Stall after SIGKILL of a worker", "Stall after SIGSTOP of a worker"
_JOIN, _CAPTAIN = "Stall of the others when a worker joins", "Stall after SIGKILL of whoever is in charge"
_DECIDED = "Until there is another captain"
_LOST, _DROPPED = "Committed steps done again after a SIGKILL", "Batches in no step after a SIGKILL"
_WHY = "Of what the survivor died, too"
_SAME, _STORM, _LEFT = "Same model", "Storm", "Orphans, segments and files left"
_HOLDFAST = "Holdfast"
_WATCHED_S = 20.0
"""How long a job is looked at that lost whoever was in charge."""
_KEPT = 0.6


@dataclass(frozen=True)
class Asked:
    """What one side is to do."""

    folder: Path
    chance: random.Random
    seed: int
    storm_minutes: float
    kills: int
    others: int
    peer_kills: int
    peer_others: int

    def rest(self) -> None:
        """So that a blow may come at any moment of a step."""
        time.sleep(self.chance.uniform(0.2, 1.0))


class Job(Protocol):
    def end(self) -> None: ...


J = TypeVar("J", bound=Job)
T = TypeVar("T")


def holdfast(asked: Asked) -> list[Measured | Seen]:
    before, chance = segments(), asked.chance
    with Ledger.open() as ledger:
        run = HoldfastRun(ledger)
        run.steps_from_now(200)
        undisturbed_s = steps_s(run.marks())
        kills = _each(asked, "Holdfast, kill", asked.kills, lambda: strike_worker(run, chance, signal.SIGKILL))
        stops = _each(asked, "Holdfast, stop", asked.others, lambda: strike_worker(run, chance, signal.SIGSTOP))
        captains = _each(asked, "Holdfast, captain", asked.others, lambda: strike_captain(run))
        result = run.stop()
    calm = train(run.workers, (f"train.steps={result['steps']}", "checkpoint.every_minutes=none"))
    same = result["state_sha256"] == calm["state_sha256"]
    none = [0.0] * len(kills) if same else []
    slowest_s = max(undisturbed_s)
    noise = Goal(slowest_s - median(undisturbed_s))
    blows = len(kills) + len(stops) + len(captains)
    return [
        Measured(_STEP, _HOLDFAST, undisturbed_s, len(undisturbed_s)),
        _stalls(_KILL, _HOLDFAST, [kill for kill, _ in kills], Goal(0.15, 0.5)),
        Measured(_LOST, _HOLDFAST, none, len(kills), "steps", goal=Goal(0, 0)),
        Measured(_DROPPED, _HOLDFAST, none, len(kills), "batches", goal=Goal(0, 0)),
        _stalls(_JOIN, _HOLDFAST, [join for _, join in kills], Goal(0.03)),
        _stalls(_STOP, _HOLDFAST, [stop for stop, _ in stops], Goal(3 * slowest_s + 1)),
        _stalls(_CAPTAIN, "Holdfast's captain", [stall for stall, _ in captains], noise),
        _stalls(_DECIDED, _HOLDFAST, [decided for _, decided in captains], Goal(2.0)),
        Seen(_SAME, _HOLDFAST, f"{_sameness(same)} after {blows} blows in {result['steps']} steps"),
        Seen(_LEFT, "Holdfast, after these blows", _told_leftovers(before)),
    ]


def storm(asked: Asked) -> list[Measured | Seen]:
    before = segments()
    with Ledger.open() as ledger:
        found = storms.weather(ledger, asked.seed, asked.storm_minutes)
    kept = found.steps_per_s / found.calm_steps_per_s
    verdict = "met" if found.same and kept >= _KEPT else "**missed**"
    text = (
        f"{_sameness(found.same)} as a calm run of {found.steps} steps; {found.mean_workers:.2f} workers on average; "
        f"{found.steps_per_s:.1f} steps/s, and {found.calm_steps_per_s:.1f} by a calm crew of {found.calm_workers}: "
        f"{kept:.0%} (goal ≥ {_KEPT:.0%}: {verdict})"
    )
    side = f"Holdfast, {found.blows} blows in {found.minutes:g} minutes, up to {storms.WORKERS} workers"
    return [Seen(_STORM, side, text), Seen(_LEFT, "Holdfast, after the storm", _told_leftovers(before))]


def torchft_by_hand(asked: Asked) -> list[Measured | Seen]:
    name, start = "torchft, by hand", lambda: ft.Torchft(asked.folder, "by-hand")
    joins, stops = [_struck(asked, name, asked.peer_others, start, blow) for blow in (ft.join, ft.stop_replica)]
    return [
        *_torchft_kills(asked, name, start),
        _stalls(_JOIN, name, joins),
        _stalls(_STOP, name, stops),
        *_watched(asked, _CAPTAIN, f"{name}: its lighthouse", start, lambda job: ft.kill_lighthouse(job, _WATCHED_S)),
    ]


def torchft_wrapped(asked: Asked) -> list[Measured | Seen]:
    return _torchft_kills(asked, "torchft, its DDP", lambda: ft.Torchft(asked.folder, "wrapped"))


def torchrun(asked: Asked) -> list[Measured | Seen]:
    name, start = f"torchrun, checkpoint every {tr.CHECKPOINT_EVERY} steps", lambda: tr.Torchrun(asked.folder)
    undisturbed_s = _undisturbed_s(start, tr.Torchrun.marks)
    kills = _struck(asked, name, asked.peer_kills, start, tr.kill_worker)
    regained_s = [cost.regained_s for cost in kills if cost.regained_s is not None]
    return [
        Measured(_STEP, name, undisturbed_s, len(undisturbed_s)),
        _stalls(_KILL, name, kills),
        Measured(_KILL, f"{name}: until further than before", regained_s, len(kills), ends=ends(kills)),
        Measured(_LOST, name, [cost.lost for cost in kills if not cost.end], len(kills), "steps"),
        *_watched(asked, _CAPTAIN, f"{name}: its agent", start, lambda job: tr.kill_agent(job, _WATCHED_S)),
        Seen(_STOP, name, _once(start, lambda job: tr.stop_worker(job, asked.chance, PATIENCE_S))),
    ]


def _torchft_kills(asked: Asked, name: str, start: Callable[[], ft.Torchft]) -> list[Measured | Seen]:
    undisturbed_s = _undisturbed_s(start, lambda job: job.marks(0))
    kills = _struck(asked, name, asked.peer_kills, start, ft.kill_replica)
    went_on = [cost for cost in kills if not cost.end]
    whys = Counter(cost.why for cost in kills if cost.why)
    return [
        Measured(_STEP, name, undisturbed_s, len(undisturbed_s)),
        _stalls(_KILL, name, kills),
        Measured(_LOST, name, [cost.lost for cost in went_on], len(kills), "steps"),
        Measured(_DROPPED, name, [cost.dropped for cost in went_on], len(kills), "batches"),
        *(Seen(_WHY, name, f"{why}, {count} ×") for why, count in whys.items()),
    ]


def _each(asked: Asked, name: str, count: int, blow: Callable[[], tuple[Cost, Cost]]) -> list[tuple[Cost, Cost]]:
    found = []
    for number in range(count):
        asked.rest()
        found.append(blow())
        _tell(f"{name} {number + 1}/{count}: {found[-1][0].stall_s:.3f} s")
    return found


def _struck(
    asked: Asked, name: str, count: int, start: Callable[[], J], blow: Callable[[J, random.Random], Cost]
) -> list[Cost]:
    """A job that did not go on is started anew."""
    costs: list[Cost] = []
    job = start()
    try:
        while len(costs) < count:
            if costs and costs[-1].end:
                job.end()
                job = start()
            asked.rest()
            costs.append(blow(job, asked.chance))
            _tell(f"{name}, {getattr(blow, '__name__', '')} {len(costs)}/{count}: {costs[-1]}")
    finally:
        job.end()
    return costs


def _watched(
    asked: Asked, heading: str, side: str, start: Callable[[], J], blow: Callable[[J], str]
) -> Iterator[Measured | Seen]:
    for number in range(min(2, asked.peer_others)):
        yield Seen(heading, side, _once(start, blow))
        _tell(f"{side} {number + 1}")


def _once(start: Callable[[], J], look: Callable[[J], T]) -> T:
    job = start()
    try:
        return look(job)
    finally:
        job.end()


def _undisturbed_s(start: Callable[[], J], marks: Callable[[J], list[Mark]]) -> list[float]:
    return steps_s(_once(start, marks))


def _stalls(heading: str, side: str, costs: Sequence[Cost], goal: Goal | None = None) -> Measured:
    stalls_s = [cost.stall_s for cost in costs if cost.stall_s is not None]
    return Measured(heading, side, stalls_s, len(costs), ends=ends(costs), goal=goal)


def _sameness(same: bool) -> str:
    return "the same SHA-256 of model and optimizer" if same else "**another SHA-256 of model and optimizer**"


def _told_leftovers(segments_before: set[str]) -> str:
    left = leftovers(os.environ["HOLDFAST_HOME"], segments_before)
    return f"{len(left)}" + (f": {', '.join(left)}" if left else "")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
