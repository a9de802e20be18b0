"""A run under a storm: its workers and its captain are killed, stopped and sent away, and it is paused and scaled.

What comes out is compared with the run that nobody disturbed. When the storm strikes and how follows from a seed; where
each process is just then does not, so a seed replays the same attack and not the same microsecond.
"""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from holdfast.engines.local import born
from holdfast.errors import HoldfastError, RunError
from holdfast.job import Job
from holdfast.ledger import UNFINISHED, Ledger
from holdfast.run.detached import Silent
from holdfast.run.launch import ask, detach, execute, launch, place_of, status_of

_LOOK_S = 0.1
KINDS = ("kill worker", "stop worker", "notice to worker", "kill captain", "stop captain", "scale", "pause")
_WEIGHTS = (6, 2, 2, 2, 1, 2, 1)
COMPARED = ("state_sha256", "model_sha256", "steps", "samples", "metrics", "loss")


@dataclass(frozen=True)
class Blow:
    """What was done, how many seconds after the beginning, and to whom."""

    after_s: float
    kind: str
    whom: str


@dataclass
class Verdict:
    calm: dict[str, Any]
    stormy: dict[str, Any]
    blows: list[Blow] = field(default_factory=list)
    mean_workers: float = 0.0
    """Of the crew under the storm; nobody counts while it is paused."""

    @property
    def differs(self) -> list[str]:
        """What the two runs do not agree in; empty if the promise was kept."""
        return [what for what in COMPARED if self.calm.get(what) != self.stormy.get(what)]


def storm(ledger: Ledger, job: Job, seed: int, seconds: float, every_s: float, tell: Callable[[Blow], None]) -> Verdict:
    """The job's result in calm, and under blows every so often for so long; after that the run comes to its end."""
    calm = execute(ledger, launch(ledger, job), Silent())
    if calm["status"] != "finished":
        raise RunError(f"the job does not come to its end even in calm: {calm['error'] or calm['status']}")
    run = launch(ledger, job.with_sets(["crew.restarts=1000000"]))
    detach(ledger, run)
    verdict = Verdict(calm, {})
    weather = Storm(ledger, run, seed, every_s, job.train.replicas)
    for blow in weather.blows(seconds):
        verdict.blows.append(blow)
        tell(blow)
    verdict.mean_workers = weather.mean_workers
    verdict.stormy = _outcome(ledger, run)
    return verdict


def _outcome(ledger: Ledger, run: str) -> dict[str, Any]:
    while status_of(ledger, run) in UNFINISHED:
        time.sleep(_LOOK_S)
    found = ledger.run(run)
    return found.result or {"run": run, "status": status_of(ledger, run), "error": found.error}


class Storm:
    """Blows at one run that is being executed."""

    def __init__(self, ledger: Ledger, run: str, seed: int, every_s: float, replicas: int) -> None:
        self._ledger = ledger
        self._run = run
        self._chance = random.Random(seed)
        self._every_s = every_s
        self._replicas = replicas
        self._began = time.monotonic()
        self._stopped: list[int] = []
        self._is_paused = False
        self._workers_now = 0
        self._worker_s = 0.0
        self._crew_s = 0.0
        self._counted_at = 0.0

    @property
    def mean_workers(self) -> float:
        """Of the crew, over the time of the storm since it was first agreed on."""
        return self._worker_s / self._crew_s if self._crew_s else 0.0

    def blows(self, seconds: float) -> Iterator[Blow]:
        """Until the time is over or the run is; whatever was stopped or paused goes on afterwards.

        A blow for which nobody is there just then, because the crew is changing, waits until somebody is.
        """
        next_at, kind = self._wait(), self._kind()
        while self._passed() < seconds and status_of(self._ledger, self._run) in UNFINISHED:
            self._count()
            if self._passed() < next_at:
                time.sleep(_LOOK_S)
                continue
            self._wake()
            if self._is_under_way() and (whom := self._strike(kind)):
                yield Blow(self._passed(), kind, whom)
                next_at, kind = self._passed() + self._wait(), self._kind()
            else:
                time.sleep(_LOOK_S)
        self._wake()
        while self._is_paused and status_of(self._ledger, self._run) in UNFINISHED:
            time.sleep(_LOOK_S)  # its captain is gone, and another will come
            self._wake()

    def _count(self) -> None:
        since, self._counted_at = self._counted_at, self._passed()
        if self._workers_now or self._crew_s:
            self._crew_s += self._counted_at - since
            self._worker_s += self._workers_now * (self._counted_at - since)
        standing = self._standing()
        if standing["committed"]:
            self._workers_now = len(standing["view"])

    def _passed(self) -> float:
        return time.monotonic() - self._began

    def _wait(self) -> float:
        return self._chance.expovariate(1.0 / self._every_s)

    def _kind(self) -> str:
        return self._chance.choices(KINDS, _WEIGHTS)[0]

    def _is_under_way(self) -> bool:
        return bool(self._standing()["committed"])

    def _strike(self, kind: str) -> str:
        try:
            match kind.split():
                case [what, "captain"]:
                    return self._hit(what, "captain", self._ledger.run(self._run).pid)
                case [what, *_, "worker"]:
                    worker, pid = self._chance.choice(self._workers())
                    return self._hit(what, f"worker {worker}", pid)
                case ["scale"]:
                    workers = self._chance.randint(1, self._replicas)
                    ask(self._ledger, self._run, {"kind": "scale", "workers": workers})
                    return f"to {workers}"
            self._is_paused = True  # even if no answer comes, it may have been heard
            ask(self._ledger, self._run, {"kind": "pause"})
            return "until the next blow"
        except (HoldfastError, OSError, IndexError):
            return ""  # there was nobody to hit just then

    def _workers(self) -> list[tuple[str, int]]:
        return [(worker, pid) for worker, (pid, _) in sorted(self._standing()["processes"].items())]

    def _standing(self) -> dict[str, Any]:
        """What the captain has written down; nobody and nothing when there is none, before the crew and after it."""
        with contextlib.suppress(OSError):  # it may be removed while it is looked for
            found = place_of(self._ledger, self._run).read_standing()
            if found is not None:
                return found
        return {"committed": False, "view": [], "processes": {}}

    def _hit(self, what: str, whom: str, pid: int | None) -> str:
        if pid is None or not self._has_others(pid):
            return ""
        number = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "notice": signal.SIGTERM}[what]
        os.kill(pid, number)
        if number == signal.SIGSTOP:
            self._stopped.append(pid)
        return whom

    def _has_others(self, pid: int) -> bool:
        """Whether somebody else of the run lives. When all are dead at once it takes a `resume`, which is no storm."""
        everybody = [(worker, born_at) for worker, born_at in self._standing()["processes"].values()]
        captain = self._ledger.run(self._run).pid
        lives = any(worker != pid and born(worker) == born_at for worker, born_at in everybody)
        return lives or (captain not in (None, pid) and born(captain or 0) != "gone")

    def _wake(self) -> None:
        """Some who were stopped are gone by now, some wake up to a world that has gone on."""
        for pid in self._stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except OSError:
                continue
        self._stopped.clear()
        if self._is_paused:
            with contextlib.suppress(HoldfastError):  # its captain may be gone; then it is tried again
                ask(self._ledger, self._run, {"kind": "unpause"})
                self._is_paused = False
