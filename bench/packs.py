"""Processes that are struck: started together, and surely gone in the end, with all that they have started."""

import contextlib
import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 60.0
"""A job that has not gone on for so long after a blow is taken to hang."""
_LOOK_S = 0.01
_TOKEN = "HOLDFAST_BENCH_PACK"


class Pack:
    """Its processes carry a token in their environment, which what they start inherits, whatever its session."""

    def __init__(self, parent: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=parent))
        self._token = secrets.token_hex(8)
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, command: list[str], log: str, **environment: str) -> subprocess.Popen[bytes]:
        """What it prints goes to `log` in the folder."""
        everything = {**os.environ, "OMP_NUM_THREADS": "1", **environment, _TOKEN: self._token}
        with open(self.folder / log, "ab") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, env=everything, start_new_session=True)
        self._started.append(process)
        return process

    def end(self) -> None:
        kill_all(f"{_TOKEN}={self._token}")
        for process in self._started:
            process.wait()


def kill_all(assignment: str) -> None:
    """Until nothing lives that was started with this variable in its environment."""
    while left := living(assignment):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)


def living(assignment: str) -> list[int]:
    """The processes that were started with this variable in their environment, and have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended, or is somebody else's
                if assignment.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def until(reached: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
    """Whether it came about in time."""
    deadline = time.monotonic() + patience_s
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_S)
    return True
