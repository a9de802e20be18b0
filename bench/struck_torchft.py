"""torchft that is struck: a lighthouse and two replica groups of one worker; whoever dies is started again by us."""

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from commands import python
from costs import Cost
from marks import Mark, committed, lost_steps, read_marks, stall_s
from packs import Pack, until

REPLICAS = 2
Way = Literal["by-hand", "wrapped"]
_LIGHTHOUSE = ("--min_replicas", "1", "--quorum_tick_ms", "100", "--join_timeout_ms", "10000", "--bind", "127.0.0.1:0")
"""As in torchft's own instructions, but for the port."""


class Torchft:
    """Gradients are handed to its manager by hand, or its DistributedDataParallel does that."""

    def __init__(self, parent: Path, way: Way) -> None:
        self._way = way
        self._pack = Pack(parent)
        self._lives = 0
        self._marks: dict[int, Path] = {}
        program = str(Path(sys.executable).with_name("torchft_lighthouse"))
        self.lighthouse = self._pack.start([program, *_LIGHTHOUSE], "lighthouse.log")
        until(self._port)
        self.replicas = {number: self._started(number) for number in range(REPLICAS)}
        if not self.is_whole(0.0, 100):
            self.end()
            sys.exit(f"torchft did not begin to train; {self._pack.folder} says why")

    def end(self) -> None:
        self._pack.end()

    def marks(self, number: int) -> list[Mark]:
        return read_marks(self._marks[number])

    def is_whole(self, since: float, steps: int = 20) -> bool:
        """Waits until both have taken part in so many steps."""
        return self._comes(lambda: all(self._steps(number, since, REPLICAS) >= steps for number in self.replicas))

    def goes_on(self, number: int, since: float) -> bool:
        """Waits until this one has committed five steps, with the other or without."""
        return self._comes(lambda: self._steps(number, since, 1) >= 5, number)

    def has_died(self, *numbers: int) -> bool:
        return any(self.replicas[number].poll() is not None for number in numbers)

    def last_words(self, number: int) -> str:
        """Where it was when it died, and of what."""
        lines = self._marks[number].with_suffix(".log").read_text(errors="replace").splitlines()
        frames = [line.split('"')[1] for line in lines if line.startswith('  File "')]
        return f"{lines[-1]} in {'/'.join(Path(frames[-1]).parts[-2:])}" if frames else lines[-1]

    def restart(self, number: int) -> None:
        """What torchft asks of its user: a dead replica is started again, and heals itself from the other."""
        self.replicas[number].kill()
        self.replicas[number].wait()
        self.replicas[number] = self._started(number)

    def _comes(self, reached: Callable[[], bool], *needed: int) -> bool:
        needed = needed or tuple(self.replicas)
        until(lambda: reached() or self.has_died(*needed))
        return reached()

    def _steps(self, number: int, since: float, parts: int) -> int:
        return sum(mark.parts >= parts for mark in committed(self.marks(number), since))

    def _started(self, number: int) -> subprocess.Popen[bytes]:
        self._lives += 1
        self._marks[number] = self._pack.folder / f"{self._lives}.marks"
        command = python("peer_torchft.py", self._marks[number], number, self._way)
        address = f"http://127.0.0.1:{self._port()}"
        return self._pack.start(command, f"{self._lives}.log", TORCHFT_LIGHTHOUSE=address)

    def _port(self) -> str:
        found = re.search(r"listening on: \S+:(\d+)", (self._pack.folder / "lighthouse.log").read_text())
        return found[1] if found else ""


def kill_replica(job: Torchft, chance: random.Random) -> Cost:
    """The dead one is started again at once, and in the end both are back."""
    victim = chance.randrange(REPLICAS)
    struck = time.monotonic()
    job.restart(victim)
    return _cost(job, 1 - victim, struck)


def stop_replica(job: Torchft, chance: random.Random) -> Cost:
    """It is started again once the other has gone on without it."""
    victim = chance.randrange(REPLICAS)
    struck = time.monotonic()
    job.replicas[victim].send_signal(signal.SIGSTOP)
    if job.goes_on(1 - victim, struck):
        job.restart(victim)
    return _cost(job, 1 - victim, struck)


def join(job: Torchft, chance: random.Random) -> Cost:
    """A replica comes back when the other has long gone on without it."""
    victim = chance.randrange(REPLICAS)
    struck = time.monotonic()
    job.replicas[victim].kill()
    if not job.goes_on(1 - victim, struck):
        return _cost(job, 1 - victim, struck)
    alone = time.monotonic()
    job.restart(victim)
    return _cost(job, 1 - victim, alone)


def kill_lighthouse(job: Torchft, watched_s: float) -> str:
    """What is seen of it afterwards."""
    struck = time.monotonic()
    job.lighthouse.kill()
    time.sleep(watched_s)
    steps = max(len(committed(job.marks(number), struck)) for number in job.replicas)
    dead = sum(job.has_died(number) for number in job.replicas)
    return f"steps in {watched_s:.0f} s: {steps}; {dead} of {REPLICAS} replicas died"


def _cost(job: Torchft, survivor: int, since: float) -> Cost:
    if not job.goes_on(survivor, since) or not job.is_whole(since):
        return Cost(end="died", why=job.last_words(survivor)) if job.has_died(survivor) else Cost(end="hung")
    marks = job.marks(survivor)
    dropped = sum(REPLICAS - mark.parts for mark in marks if mark.time > since)
    return Cost(stall_s(marks, since), lost=lost_steps(marks, since), dropped=dropped)
