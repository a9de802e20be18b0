"""Who looks on while a trial runs, remembers when what happened, and kills one of its workers half-way."""

import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holdfast.job import Job
from holdfast.run.events import Note
from holdfast.run.progress import Snapshot


@dataclass
class Life:
    """A worker's: when it was started, when it first took part, when it died. Times in seconds of the trial."""

    worker: int
    pid: int
    started: float
    joined: float | None = None
    died: float | None = None


@dataclass(frozen=True)
class Moment:
    """Something that happened."""

    seconds: float
    step: int
    kind: str
    text: str


@dataclass(frozen=True)
class Pulse:
    """How far the trial had come at some time."""

    seconds: float
    step: int


class Witness:
    """The `Show` of a trial. It is written by the thread that runs the trial, and may be read by one that draws.

    `victim` is the number of the worker to be killed once half of the steps are done; None: nobody.
    """

    def __init__(
        self,
        victim: int | None = None,
        hear: Callable[[Moment], None] = lambda moment: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lives: list[Life] = []
        self.moments: list[Moment] = []
        self.pulses: list[Pulse] = []
        self.latest: Snapshot | None = None
        self._victim = victim
        self._hear = hear
        self._clock = clock
        self._began = clock()
        self._ended: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has taken so far, or took."""
        return (self._clock() if self._ended is None else self._ended) - self._began

    @property
    def replacement(self) -> Life | None:
        """Who came for the dead and took part."""
        deaths = [life.died for life in self.lives if life.died is not None]
        joins = [life for life in self.lives if life.joined is not None and deaths and life.joined > min(deaths)]
        return joins[0] if joins else None

    def begin(self, run: str, job: Job) -> None:
        self._began = self._clock()

    def end(self) -> None:
        self._ended = self._clock()

    def note(self, note: Note, trace: str, step: int) -> None:
        if note.kind == "started" and note.worker is not None:
            self.lives.append(Life(note.worker, _pid(note.text), self.seconds))
        elif note.kind == "died":
            self._life(note.worker).died = self.seconds
        elif note.kind == "view":
            self._join(_members(note.text))
        self._remember(step, note.kind, note.text)

    def progress(self, snapshot: Snapshot) -> None:
        self.latest = snapshot
        self.pulses.append(Pulse(self.seconds, snapshot.step))
        if self._victim is not None and snapshot.step >= snapshot.steps / 2:
            self._kill(self._life(self._victim), snapshot.step)

    def measured(self, step: int, metrics: dict[str, Any]) -> None:
        shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        self._remember(step, "measured", shown)

    def told(self) -> list[dict[str, Any]]:
        """The time line, for programs."""
        return [vars(moment) for moment in self.moments]

    def _kill(self, life: Life, step: int) -> None:
        self._victim = None
        if life.died is None:
            os.kill(life.pid, signal.SIGKILL)
            self._remember(step, "kill", f"half-way: SIGKILL is sent to worker {life.worker} (pid {life.pid})")

    def _life(self, worker: int | None) -> Life:
        return next(life for life in self.lives if life.worker == worker)

    def _join(self, members: list[int]) -> None:
        for life in self.lives:
            if life.worker in members and life.joined is None:
                life.joined = self.seconds

    def _remember(self, step: int, kind: str, text: str) -> None:
        moment = Moment(round(self.seconds, 3), step, kind, text)
        self.moments.append(moment)
        self._hear(moment)


def _pid(text: str) -> int:
    """From `worker 2 started (pid 4711)`."""
    return int(re.findall(r"\(pid (\d+)\)", text)[0])


def _members(text: str) -> list[int]:
    """From `view 3: workers 0, 1, 4`."""
    return [int(number) for number in re.findall(r"\d+", text.partition(":")[2])]
