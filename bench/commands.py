"""Running what is measured: each side is a command in fresh processes, with one thread per process."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

HERE = Path(__file__).resolve().parent
_SAMPLE_EVERY_S = 0.05
_TIMEOUT_S = 900
_PATIENCE_S = 60


class UnavailableError(Exception):
    """A side that cannot be measured here; its text says why, in place of a number in the table."""


def python(script: str, *args: object) -> list[str]:
    return [sys.executable, str(HERE / script), *map(str, args)]


def torchrun(processes: int, script: str, *args: object) -> list[str]:
    launcher = str(Path(sys.executable).with_name("torchrun"))
    return [launcher, "--standalone", f"--nproc-per-node={processes}", str(HERE / script), *map(str, args)]


def output(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    """What the command printed; UnavailableError if it failed."""
    return _watched(command, environment or {}, None)


def peak_pss(
    command: list[str], processes: int, with_launcher: bool, environment: Mapping[str, str] | None = None
) -> int:
    """The most bytes that the command's processes held together; its own process counts only `with_launcher`.

    Fewer than `processes` others seen at once would mean that some hide from the count: UnavailableError.
    """
    pss = _PeakPss(with_launcher)
    _watched(command, environment or {}, pss)
    if pss.most_processes <= processes:
        raise UnavailableError(f"only {pss.most_processes} processes were seen, the launcher among them")
    return pss.peak


class _PeakPss:
    """The highest sum of PSS (shared pages divided among those who share them) over a tree of processes."""

    def __init__(self, with_launcher: bool) -> None:
        self._with_launcher = with_launcher
        self.peak = 0
        self.most_processes = 0

    def sample(self, root: int) -> None:
        tree = _tree(root)
        self.most_processes = max(self.most_processes, len(tree))
        self.peak = max(self.peak, sum(map(_pss, tree if self._with_launcher else tree[1:])))


def _watched(command: list[str], environment: Mapping[str, str], pss: _PeakPss | None) -> str:
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            command,
            stdout=printed,
            stderr=complaints,
            cwd=HERE.parent,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        )
        try:
            _wait(process, pss)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(_PATIENCE_S)
        if process.returncode:
            raise UnavailableError(f"exit status {process.returncode}: {_last_line(_text(complaints))}")
        return _text(printed)


def _wait(process: subprocess.Popen[bytes], pss: _PeakPss | None) -> None:
    end = time.monotonic() + _TIMEOUT_S
    while process.poll() is None:
        if time.monotonic() > end:
            raise UnavailableError(f"not done after {_TIMEOUT_S} s")
        if pss is not None:
            pss.sample(process.pid)
        time.sleep(_SAMPLE_EVERY_S)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip(" =-\n")]
    return lines[-1] if lines else "without a word"


def _tree(root: int) -> list[int]:
    """The process and all that descend from it, `root` first."""
    found = [root]
    for pid in found:
        found += children(pid)
    return found


def children(pid: int) -> list[int]:
    found: list[int] = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, tasks.read_text().split())
        except OSError:  # the thread has just ended
            continue
    return found


def _pss(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:  # the process has just ended
        pass
    return 0
