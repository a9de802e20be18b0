"""The command line as a user has it: processes, with a home of their own, and nothing left behind by any of them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.ledger import Ledger

HOLDFAST = ("-m", "holdfast")
DEADLINE_S = 60.0


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def sentence(self) -> str:
        """The error; asserts that it is one, on one line, and no traceback."""
        assert "Traceback" not in self.err
        (line,) = [line for line in self.err.splitlines() if line.startswith("holdfast: ")]
        assert self.err.rstrip().endswith(line)
        return line.removeprefix("holdfast: ")


class Terminal:
    """Types commands in a directory."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.home = place / "home"

    def type(self, *arguments: str, python: tuple[str, ...] = HOLDFAST) -> Done:
        """Run a command to its end; no worker may outlive it."""
        done = self.finished(self.start(*arguments, python=python))
        assert self.workers() == []
        return done

    def start(self, *arguments: str, python: tuple[str, ...] = HOLDFAST, fault: str = "") -> subprocess.Popen[str]:
        """`fault` is what happens to the run's processes, as HOLDFAST_FAULT has it."""
        environment = {**os.environ, "HOLDFAST_HOME": str(self.home), "COLUMNS": "120", "HOLDFAST_FAULT": fault}
        return subprocess.Popen(
            [sys.executable, *python, *arguments],
            cwd=self.place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finished(self, process: subprocess.Popen[str]) -> Done:
        out, err = process.communicate(timeout=DEADLINE_S)
        return Done(process.returncode, out, err)

    def write(self, name: str, text: str) -> str:
        (self.place / name).write_text(text)
        return name

    def workers(self) -> list[int]:
        """The processes that work for a run of this home."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if b"holdfast.run.worker" in words and any(word.startswith(bytes(self.home)) for word in words):
                found.append(int(path.parent.name))
        return found

    def status(self, run: str = "last") -> str:
        with Ledger.open(self.home) as ledger:
            return ledger.run(run).status

    def is_stepping(self) -> bool:
        """Whether the newest run has agreed on its crew, so that a step is under way."""
        if not (self.home / "ledger.db").exists():
            return False
        with Ledger.open(self.home) as ledger:
            return any(event.kind == "view" for run in ledger.runs(1) for event in ledger.events(run.id))


def until(reached: Callable[[], bool]) -> None:
    """Look again and again, up to a deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not reached():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
