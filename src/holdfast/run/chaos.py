"""A run under a storm: its workers and its captain are killed, stopped and sent away, and it is paused and scaled.

What comes out is compared with the run that nobody disturbed. When the storm strikes and how follows from a seed; where
each process is just then does not, so a seed replays the same attack and not the same microsecond.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

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
    for blow in _Storm(ledger, run, seed, every_s, job.train.replicas).blows(seconds):
        verdict.blows.append(blow)
        tell(blow)
    verdict.stormy = _outcome(ledger, run)
    return verdict


def _outcome(ledger: Ledger, run: str) -> dict[str, Any]:
    while status_of(ledger, run) in UNFINISHED:
        time.sleep(_LOOK_S)
    found = ledger.run(run)
    return found.result or {"run": run, "status": status_of(ledger, run), "error": found.error}


class _Storm:
    def __init__(self, ledger: Ledger, run: str, seed: int, every_s: float, replicas: int) -> None:
        self._ledger = ledger
        self._run = run
        self._chance = random.Random(seed)
        self._every_s = every_s
        self._replicas = replicas
        self._began = time.monotonic()
        self._stopped: list[int] = []

    def blows(self, seconds: float) -> Iterator[Blow]:
        """Until the time is over or the run is; whatever was stopped or paused goes on afterwards."""
        next_at = self._wait()
        while self._passed() < seconds and status_of(self._ledger, self._run) in UNFINISHED:
            if self._passed() < next_at:
                time.sleep(_LOOK_S)
                continue
            next_at = self._passed() + self._wait()
            self._wake()
            if self._is_under_way() and (whom := self._strike(kind := self._kind())):
                yield Blow(self._passed(), kind, whom)
        self._wake()

    def _passed(self) -> float:
        return time.monotonic() - self._began

    def _wait(self) -> float:
        return self._chance.expovariate(1.0 / self._every_s)

    def _kind(self) -> str:
        return self._chance.choices(KINDS, _WEIGHTS)[0]

    def _is_under_way(self) -> bool:
        standing = place_of(self._ledger, self._run).read_standing()
        return standing is not None and standing["committed"]

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
            ask(self._ledger, self._run, {"kind": "pause"})
            return "until the next blow"
        except (HoldfastError, OSError, IndexError):
            return ""  # there was nobody to hit just then

    def _workers(self) -> list[tuple[str, int]]:
        standing = place_of(self._ledger, self._run).read_standing() or {"processes": {}}
        return [(worker, pid) for worker, (pid, _) in sorted(standing["processes"].items())]

    def _hit(self, what: str, whom: str, pid: int | None) -> str:
        if pid is None:
            return ""
        number = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "notice": signal.SIGTERM}[what]
        os.kill(pid, number)
        if number == signal.SIGSTOP:
            self._stopped.append(pid)
        return whom

    def _wake(self) -> None:
        """Some who were stopped are gone by now, some wake up to a world that has gone on."""
        for pid in self._stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except OSError:
                continue
        self._stopped.clear()
        if status_of(self._ledger, self._run) == "paused":
            try:
                ask(self._ledger, self._run, {"kind": "unpause"})
            except HoldfastError:
                return  # its captain is gone; the next blow, or the end of the storm, wakes it
