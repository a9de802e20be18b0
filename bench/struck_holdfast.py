"""A Holdfast run that is struck. When its steps were committed is read off its shared memory."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from costs import Cost
from marks import Mark, stall_s
from packs import living, until

from holdfast.errors import RunError
from holdfast.ledger import Ledger
from holdfast.planes.arena import Arena
from holdfast.run.gauges import Gauges
from holdfast.run.launch import ask, place_of

_ROOT = Path(__file__).resolve().parent.parent
_RECENT = 4000
WORKERS = 2


class HoldfastRun:
    """An endless run, started as a user does; every wait for it has a bound, beyond which the bench fails."""

    def __init__(self, ledger: Ledger, workers: int = WORKERS, sets: tuple[str, ...] = ()) -> None:
        endless = ("train.steps=10000000", "crew.restarts=1000000", "checkpoint.every_minutes=none")
        self.run: str = train(workers, (*endless, *sets), "--detach")["run"]
        self.workers = workers
        self._ledger = ledger
        self._place = place_of(ledger, self.run)
        must(until(lambda: len(self.members()) == workers))
        standing = self._place.read_standing()
        assert standing is not None
        layout = self._place.read_layout()
        arena = os.open(f"/proc/{self.captain()}/fd/{standing['arena']}", os.O_RDWR)
        self.gauges = Gauges(Arena(arena, layout["size"]), layout)
        self.steps_from_now(100)

    def captain(self) -> int:
        return self._ledger.run(self.run).pid or 0

    def members(self) -> dict[str, int]:
        """The workers of the view that is agreed on, by number: their pids."""
        with contextlib.suppress(OSError):  # a new captain has just tidied up after an old one
            standing = self._place.read_standing()
            if standing is not None and standing["committed"]:
                pids = {worker: pid for worker, (pid, _) in standing["processes"].items()}
                return {str(worker): pids[str(worker)] for worker, _ in standing["view"] if str(worker) in pids}
        return {}

    def marks(self) -> list[Mark]:
        """Of the last steps. That every replica is in every step is told by the run's SHA-256, not by these."""
        rows = self.gauges.rows(max(0, self.gauges.committed - _RECENT), self.gauges.committed)
        return [Mark(row.time, row.step + 1, self.workers) for row in rows]

    def steps_from_now(self, count: int) -> None:
        goal = self.gauges.committed + count
        must(until(lambda: self.gauges.committed >= goal))

    def stop(self) -> dict[str, Any]:
        """Its result. Whoever is captain hears of it; between two captains nobody does, so it is said again."""

        def is_over() -> bool:
            if self._ledger.run(self.run).status == "stopped":
                return True
            with contextlib.suppress(RunError):
                ask(self._ledger, self.run, {"kind": "stop"})
            return False

        must(until(is_over))
        return self._ledger.run(self.run).result or {}


def train(workers: int, sets: tuple[str, ...], *flags: str) -> dict[str, Any]:
    """`holdfast run` with the MLP of the benchmarks; what it prints with --json."""
    settings = [part for text in sets for part in ("--set", text)]
    return command("run", "bench/jobs.py:mlp_32", "--workers", str(workers), *settings, "--json", *flags)


def command(*words: str) -> dict[str, Any]:
    line = [sys.executable, "-m", "holdfast", *words]
    printed = subprocess.run(line, cwd=_ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found: dict[str, Any] = json.loads(printed)
    return found


def must(came_about: bool) -> None:
    if not came_about:
        sys.exit("Holdfast did not go on within a minute")


def strike_worker(run: HoldfastRun, chance: random.Random, number: signal.Signals) -> tuple[Cost, Cost]:
    """What the blow cost, and what it cost that the successor of the dead joined."""
    crew = run.members()
    pid = crew[chance.choice(sorted(crew))]
    struck = time.monotonic()
    os.kill(pid, number)
    must(until(lambda: pid not in run.members().values() and run.members() != {}))
    run.steps_from_now(5)
    stall = stall_s(run.marks(), struck)
    alone = time.monotonic()
    must(until(lambda: len(run.members()) == run.workers))
    run.steps_from_now(20)
    return Cost(stall), Cost(stall_s(run.marks(), alone))


def strike_captain(run: HoldfastRun) -> tuple[Cost, Cost]:
    """The longest stall of the steps; and as such, too, how long it took until there was another captain."""
    old, struck = run.captain(), time.monotonic()
    os.kill(old, signal.SIGKILL)
    must(until(lambda: run.captain() not in (0, old)))
    decided_s = time.monotonic() - struck
    run.steps_from_now(20)
    return Cost(stall_s(run.marks(), struck)), Cost(decided_s)


def leftovers(home: str, segments_before: set[str]) -> list[str]:
    """What is left when all runs of a home are over: as the janitor sees it, as processes, and as shared memory."""
    janitor = [f"{one['kind']} {one['what']}" for one in command("clean", "--dry-run", "--json")["leftovers"]]
    own = os.getpid()
    processes = [f"process {pid}" for pid in living(f"HOLDFAST_HOME={home}") if pid != own]
    return [*janitor, *processes, *(f"/dev/shm/{name}" for name in sorted(segments() - segments_before))]


def segments() -> set[str]:
    return set(os.listdir("/dev/shm"))
