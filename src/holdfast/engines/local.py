"""Processes on this machine, each a fresh interpreter in a session of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import ResourceError

_KEEP_FREED_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 32)}
"""A step frees what the next one needs again. By default glibc would give large pieces back to the system each time,
and page faults would cost more than the arithmetic of a large embedding."""


class LocalProcess:
    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.pid = child.pid
        self._child = child
        self._descriptor = os.pidfd_open(child.pid)

    def fileno(self) -> int:
        return self._descriptor

    def kill(self) -> None:
        self._child.kill()

    def cause(self) -> str:
        code = self._child.wait()
        if code >= 0:
            return f"it ended with exit code {code}"
        return f"it was killed by {signal.Signals(-code).name}"

    def close(self) -> None:
        os.close(self._descriptor)


class LocalEngine:
    def start(self, arguments: Sequence[str], log: Path, threads: int, inherited: Sequence[int]) -> LocalProcess:
        # One pool of threads per process: what each library would start for itself is fixed before it is loaded.
        pools = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        environment = {**_KEEP_FREED_MEMORY, **os.environ, **pools, "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "holdfast.run.worker", *arguments]
        try:
            with log.open("ab") as output:
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    pass_fds=tuple(inherited),
                    start_new_session=True,
                )
        except OSError as error:
            raise ResourceError(f"a worker could not be started: {error.strerror}; see `holdfast doctor`") from error
        return LocalProcess(child)
