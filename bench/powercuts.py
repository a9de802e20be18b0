"""`make bench-powercuts`: all processes of a run die at once, at random moments; it is resumed until it is finished.

A cut first stops every process that descends from the command, so that none sees another die, then kills them all. It
may hit a run while it starts, while it writes a checkpoint or to its ledger, between two captains, or as it is resumed.
What each run comes to is compared with a run that nobody disturbed.
"""

import argparse
import contextlib
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.ledger import Ledger

JOB = """\
name = "cut"
data = "digits"
[model]
use = "mlp"
args = { hidden = [512, 512] }
[train]
replicas = 4
batch = 64
steps = 300
clip_norm = 1.0
[evaluate]
every_steps = 30
metrics = ["accuracy"]
[checkpoint]
every_steps = 5
keep = 2
[crew]
workers = 2
restarts = 1000000
"""
_SUBREAPER = 36
_LONGEST_S = 120.0
_CAPTAIN_FIRST = 0.25
"""The share of cuts before which the captain alone dies, so that they may come between two captains."""
_EXPECTED = ("job.json", "key", "layout.json", "logs/", "curves/", "checkpoints/step-", "metrics/", "changes/")


class Machine:
    """What is cut off: a command, and all processes that descend from it, in a home of their own."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self._place = place
        self._command: subprocess.Popen[bytes] | None = None

    def said(self) -> str:
        return (self._place / "said").read_text()

    def start(self, *words: str) -> None:
        environment = {**os.environ, "HOLDFAST_HOME": str(self.home)}
        with (self._place / "said").open("ab") as said:
            command = [sys.executable, "-m", "holdfast", *words]
            self._command = subprocess.Popen(
                command, cwd=self._place, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def runs_for(self, seconds: float) -> bool:
        """Whether any of its processes is still there after so long."""
        deadline = time.monotonic() + seconds
        while self._reap() and time.monotonic() < deadline:
            time.sleep(0.005)
        return bool(self._reap())

    def runs_until_it_saves(self) -> bool:
        """Wait until it writes its first checkpoint since now; whether it still ran then."""
        before = self._saving()
        while self._reap() and self._saving() == before:
            time.sleep(0.005)
        return bool(self._reap())

    def _saving(self) -> list[int]:
        return [path.stat().st_mtime_ns for path in self.home.glob("runs/*/checkpoints")]

    def kill_captain(self) -> None:
        with Ledger.open(self.home) as ledger:
            pid = ledger.runs(1)[0].pid if ledger.runs(1) else None
        if pid in self._reap():
            os.kill(pid, signal.SIGKILL)

    def cut(self) -> None:
        """Stop all until nobody is left who could start another, then kill all."""
        stopped: set[int] = set()
        while fresh := self._reap() - stopped:
            for pid in fresh:
                _send(pid, signal.SIGSTOP)
            stopped |= fresh
        for pid in stopped:
            _send(pid, signal.SIGKILL)
        while self._reap():
            time.sleep(0.001)

    def _reap(self) -> set[int]:
        """Ask those who have ended why, and name the others."""
        living = set(_descendants(os.getpid()))
        for pid in list(living):
            try:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    living.discard(pid)
            except ChildProcessError:
                pass  # it has another parent, which is to be asked first
        if self._command is not None and self._command.pid not in living:
            self._command.returncode = 0  # it was asked above
        return living


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _descendants(pid: int) -> Iterator[int]:
    """Those who lose their parents become children of this process, so nobody gets away."""
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _descendants(child)


def outcome(home: Path) -> dict[str, Any]:
    """What must be equal: the result, and the curves as the ledger has them."""
    with Ledger.open(home) as ledger:
        run = ledger.run("last")
        curves = [(point.step, point.name, point.value) for point in ledger.metrics(run.id)]
    result = run.result or {}
    kept = ("status", "steps", "samples", "model_sha256", "state_sha256", "metrics", "loss")
    return {**{what: result.get(what) for what in kept}, "curves": curves}


def leftovers(home: Path) -> list[str]:
    """Processes and memory of the run, files that should not be there, and what the janitor would find."""
    with Ledger.open(home) as ledger:
        run = ledger.run("last").id
    left = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if str(home).encode() in (path / "environ").read_bytes() and int(path.name) != os.getpid():
                left.append(f"process {path.name}")
            left += [f"memory in {path.name}" for fd in (path / "fd").iterdir() if run in os.readlink(fd)]
        except OSError:
            continue
    root = home / "runs" / run
    left += [f"file {path}" for path in root.rglob("*") if path.is_file() and not _is_expected(path, root)]
    left += [f"file {path}" for path in home.glob("crashes/*")]
    left += [f"segment {path}" for path in Path("/dev/shm").glob(f"*{run}*")]
    environment = {**os.environ, "HOLDFAST_HOME": str(home)}
    command = [sys.executable, "-m", "holdfast", "clean", "--dry-run", "--json"]
    cleaned = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    return left + [str(one) for one in json.loads(cleaned)["leftovers"]]


def _is_expected(path: Path, root: Path) -> bool:
    name = str(path.relative_to(root))
    return name.startswith(_EXPECTED) and ".tmp-" not in name and ".draft-" not in name


def moment(home: Path) -> str:
    """What was under way when the power went, as far as the files that are left tell."""
    roots = list(home.glob("runs/*"))
    if not roots or not (roots[0] / "job.json").exists():
        return "before there was a run"
    if list(roots[0].glob("checkpoints/*.tmp-*")):
        return "while a checkpoint was written or removed"
    if list(roots[0].rglob("*.draft-*")):
        return "while a file was written"
    with Ledger.open(home) as ledger:
        kinds = [event.kind for event in ledger.events(ledger.run("last").id)]
    begun_at = max((place for place, kind in enumerate(kinds) if kind in ("resumed", "captain")), default=-1)
    if begun_at >= 0 and kinds[begun_at] == "captain":
        return "under another captain"
    when = "in training" if "view" in kinds[begun_at + 1 :] else "before training"
    return f"{when}, resumed" if begun_at >= 0 else when


@dataclass(frozen=True)
class Times:
    """How long the run takes when nothing happens, and how long of that it writes checkpoints."""

    whole_s: float
    saving_s: float


def comes_to_a_cut(machine: Machine, chance: random.Random, times: Times) -> bool:
    """Wait for a random moment; False when all was over before. Half of them are while it trains and saves."""
    is_late, captain_first = chance.random() < 0.5, chance.random() < _CAPTAIN_FIRST
    after_s = chance.uniform(0.0, times.saving_s if is_late else times.whole_s)
    if is_late and not machine.runs_until_it_saves():
        return False
    if captain_first and machine.runs_for(after_s):
        machine.kill_captain()
        after_s = chance.uniform(0.0, 2.0)
    return machine.runs_for(after_s)


def survive(machine: Machine, chance: random.Random, times: Times, cuts_left: int, seen: Counter[str]) -> int:
    """One run, cut again and again until it is finished, or enough cuts were made; how many there were."""
    machine.start("run", "job.toml", "--json")
    cuts = 0
    while True:
        if cuts < cuts_left and comes_to_a_cut(machine, chance, times):
            machine.cut()
            cuts += 1
            seen[moment(machine.home)] += 1
        elif machine.runs_for(_LONGEST_S):
            machine.cut()
            sys.exit(f"the run does not come to its end: {machine.said()}")
        elif outcome(machine.home)["status"] == "finished":
            return cuts
        with Ledger.open(machine.home) as ledger:
            begun = bool(ledger.runs(1)) and (machine.home / "runs" / ledger.run("last").id / "job.json").exists()
        # A run that was cut off before it was written down is begun anew, as its user would.
        machine.start(*(("resume", "last") if begun else ("run", "job.toml")), "--json")


def calm(place: Path) -> tuple[dict[str, Any], Times]:
    """What the run comes to when nothing happens."""
    place.mkdir()
    (place / "job.toml").write_text(JOB)
    machine = Machine(place)
    machine.start("run", "job.toml", "--json")
    began = time.monotonic()
    saves = machine.runs_until_it_saves()
    saving = time.monotonic()
    if not saves or machine.runs_for(_LONGEST_S):
        machine.cut()
        sys.exit(f"the run does not come to its end even in calm: {machine.said()}")
    ended = time.monotonic()
    return outcome(machine.home), Times(ended - began, ended - saving)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    chance, seen, began = random.Random(asked.seed), Counter[str](), time.monotonic()
    cuts = runs = 0
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="holdfast-powercuts-") as name:
        undisturbed, times = calm(Path(name) / "calm")
        print(f"undisturbed: {times.whole_s:.1f} s, state sha256 {undisturbed['state_sha256']}", flush=True)
        while cuts < asked.cuts:
            place = Path(name) / str(runs)
            place.mkdir()
            (place / "job.toml").write_text(JOB)
            machine = Machine(place)
            made = survive(machine, chance, times, asked.cuts - cuts, seen)
            found, left = outcome(machine.home), leftovers(machine.home)
            differs = [what for what in undisturbed if found[what] != undisturbed[what]]
            wrong += [f"run {runs}: {what} differs" for what in differs]
            wrong += [f"run {runs}: {one} is left" for one in left]
            cuts, runs = cuts + made, runs + 1
            verdict = "the same" if not differs else f"DIFFERS in {', '.join(differs)}"
            print(f"run {runs}: {made} cuts, {verdict}, left over: {len(left)}; {cuts} of {asked.cuts}", flush=True)
    print("\n| the power went | times |\n|---|---|")
    for when, count in sorted(seen.items()):
        print(f"| {when} | {count} |")
    took_s, verdict = time.monotonic() - began, "NOT all" if wrong else "all"
    print(f"\n{cuts} cuts of {runs} runs in {took_s:.0f} s, seed {asked.seed}: {verdict} came to the same")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
