"""`make bench-faults`: what a death costs the others, on real processes; prints a table.

A run of the MLP with two workers is struck at random moments. The times at which steps were committed are read off its
shared memory; a stall is the longest time between two of them around the blow, less the usual one.
"""

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from holdfast.ledger import Ledger
from holdfast.planes.arena import Arena
from holdfast.run.gauges import Gauges
from holdfast.run.launch import ask, place_of

HERE = Path(__file__).parent
PATIENCE_S = 60.0
WORKERS = 2


class Target:
    """A run in the background, and its memory."""

    def __init__(self, ledger: Ledger) -> None:
        sets = ("train.steps=10000000", "crew.restarts=1000000", "checkpoint.every_minutes=none")
        words = ["run", "bench/jobs.py:mlp_32", "--workers", str(WORKERS), "--detach", "--json"]
        words += [part for text in sets for part in ("--set", text)]
        printed = subprocess.run(
            [sys.executable, "-m", "holdfast", *words], cwd=HERE.parent, check=True, capture_output=True, text=True
        ).stdout
        self.run: str = json.loads(printed)["run"]
        self._ledger = ledger
        self._place = place_of(ledger, self.run)
        until(lambda: len(self.members()) == WORKERS)
        layout = self._place.read_layout()
        standing = self._place.read_standing()
        assert standing is not None
        arena = os.open(f"/proc/{self.captain()}/fd/{standing['arena']}", os.O_RDWR)
        self.gauges = Gauges(Arena(arena, layout["size"]), layout)
        until(lambda: self.gauges.committed > 100)

    def captain(self) -> int:
        return self._ledger.run(self.run).pid or 0

    def members(self) -> dict[str, int]:
        """The workers of the view that is agreed on, by number: their pids."""
        standing = self._place.read_standing()
        if standing is None or not standing["committed"]:
            return {}
        pids = {worker: pid for worker, (pid, _) in standing["processes"].items()}
        return {str(worker): pids[str(worker)] for worker, _ in standing["view"] if str(worker) in pids}

    def longest_gap_s(self, since: float, usual_s: float) -> float:
        """Between two commits from just before `since` on."""
        rows = self.gauges.rows(max(0, self.gauges.committed - 4000), self.gauges.committed)
        times = [row.time for row in rows if row.time > since - 0.5]
        gaps = [after - before for before, after in itertools.pairwise(times) if after > since]
        return max(gaps) - usual_s

    def usual_s(self) -> float:
        rows = self.gauges.rows(self.gauges.committed - 50, self.gauges.committed)
        return median(after.time - before.time for before, after in itertools.pairwise(rows))

    def steps_from_now(self, count: int) -> None:
        goal = self.gauges.committed + count
        until(lambda: self.gauges.committed >= goal)

    def stop(self) -> None:
        ask(self._ledger, self.run, {"kind": "stop"})
        until(lambda: self._ledger.run(self.run).status == "stopped")


def until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        if time.monotonic() > deadline:
            sys.exit("it did not come about in a minute")
        time.sleep(0.002)


def strike_worker(target: Target, chance: random.Random, number: signal.Signals) -> tuple[float, float]:
    """The stall of the blow, and that of the join of the one who replaces the dead."""
    usual_s = target.usual_s()
    crew = target.members()
    pid = crew[chance.choice(sorted(crew))]
    struck = time.monotonic()
    os.kill(pid, number)
    until(lambda: pid not in target.members().values() and target.members() != {})
    target.steps_from_now(5)
    stall_s = target.longest_gap_s(struck, usual_s)
    left_at = time.monotonic()
    until(lambda: len(target.members()) == WORKERS)
    target.steps_from_now(20)
    return stall_s, target.longest_gap_s(left_at, usual_s)


def strike_captain(target: Target) -> tuple[float, float]:
    """The longest stall of the steps, and how long it took until there was another captain."""
    usual_s, old, struck = target.usual_s(), target.captain(), time.monotonic()
    os.kill(old, signal.SIGKILL)
    until(lambda: target.captain() not in (0, old))
    decided_s = time.monotonic() - struck
    target.steps_from_now(20)
    return target.longest_gap_s(struck, usual_s), decided_s


def row(name: str, values: list[float], goal: str) -> str:
    return f"| {name} | {median(values):.3f} | {max(values):.3f} | {len(values)} | {goal} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--others", type=int, default=10, help="stops of workers, and deaths of captains")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="holdfast-faults-") as home:
        os.environ["HOLDFAST_HOME"] = home
        with Ledger.open() as ledger:
            target = Target(ledger)

            def rest() -> None:
                time.sleep(chance.uniform(0.2, 1.0))

            kills, stops, captains = [], [], []
            for _ in range(asked.kills):
                rest()
                kills.append(strike_worker(target, chance, signal.SIGKILL))
            for _ in range(asked.others):
                rest()
                stops.append(strike_worker(target, chance, signal.SIGSTOP))
            for _ in range(asked.others):
                rest()
                captains.append(strike_captain(target))
            target.stop()
    print("| seconds | median | worst | of | goal |\n|---|---|---|---|---|")
    print(row("stall after SIGKILL of a worker", [stall for stall, _ in kills], "≤ 0.15, worst ≤ 0.5"))
    print(row("stall when its successor joins", [join for _, join in kills], "≤ 0.03"))
    print(row("stall after SIGSTOP of a worker", [stall for stall, _ in stops], "≤ 3 × the slowest step + 1"))
    print(row("stall of steps after SIGKILL of the captain", [stall for stall, _ in captains], "0"))
    print(row("until there is another captain", [decided for _, decided in captains], "≤ 2"))


if __name__ == "__main__":
    main()
