"""Processes on this machine, each a fresh interpreter in a session of its own."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from holdfast.engines.base import Activity
from holdfast.errors import ResourceError

_KEEP_FREED_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 32)}
"""A step frees what the next one needs again. By default glibc would give large pieces back to the system each time,
and page faults would cost more than the arithmetic of a large embedding."""


def born(pid: int) -> str:
    """When a process began, in ticks since the machine did; `gone` if it has ended."""
    fields = _stat(pid)
    return fields[19] if fields and fields[0] != "Z" else "gone"


class AdoptedProcess:
    """A process of which only this much is known: which one it is."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.born = born(pid)
        self._descriptor = os.pidfd_open(pid)
        self._killed_for_memory = _killed_for_memory()

    def fileno(self) -> int:
        return self._descriptor

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def cause(self) -> str:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._descriptor, selectors.EVENT_READ)
            waiting.select()
        return "its process ended"

    def activity(self) -> Activity:
        fields = _stat(self.pid)
        if not fields:
            return Activity(0.0, False)
        return Activity((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] == "T")

    def close(self) -> None:
        os.close(self._descriptor)

    def ran_out_of_memory(self) -> bool:
        """Whether the system has killed for want of memory in the life of this object."""
        return _killed_for_memory() > self._killed_for_memory


class LocalProcess(AdoptedProcess):
    """A child of this process, so that is known too why it ended."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        super().__init__(child.pid)
        self._child = child

    def cause(self) -> str:
        code = self._child.wait()
        if code >= 0:
            return f"it ended with exit code {code}"
        text = f"it was killed by {signal.Signals(-code).name}"
        if -code == signal.SIGKILL and self.ran_out_of_memory():
            text += ", as the system ran out of memory and had to choose somebody"
        return text


class LocalEngine:
    def start(self, arguments: Sequence[str], log: Path, threads: int, inherited: Sequence[int]) -> LocalProcess:
        # One pool of threads per process: what each library would start for itself is fixed before it is loaded.
        pools = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        environment = {**_KEEP_FREED_MEMORY, **os.environ, **pools, "PYTHONUNBUFFERED": "1"}
        try:
            child = start_apart(["holdfast.run.worker", *arguments], log, inherited, environment)
        except OSError as error:
            raise ResourceError(f"a worker could not be started: {error.strerror}; see `holdfast doctor`") from error
        return LocalProcess(child)

    def adopt(self, pid: int, born_at: str) -> AdoptedProcess | None:
        try:
            process = AdoptedProcess(pid)
        except ProcessLookupError:
            return None
        if process.born == born_at:
            return process
        process.close()
        return None


def start_apart(
    module: Sequence[str], log: Path, inherited: Sequence[int] = (), environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Run a module of ours in a session of its own, which outlives the terminal of this one."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", *module],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            pass_fds=tuple(inherited),
            start_new_session=True,
        )


def _stat(pid: int) -> list[str]:
    """What the system says of a process, from its state on; nothing if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _killed_for_memory() -> int:
    for line in Path("/proc/vmstat").read_text().splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0
