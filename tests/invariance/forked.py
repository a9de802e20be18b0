"""An engine for tests: workers are forked, so a case costs no import, and each may be told where to kill itself.

They are real processes that die by a real SIGKILL. The place is counted in the points of `holdfast.faults` that a step
passes. HOLDFAST_FAULT itself is read when a process begins, which a forked one does not.
"""

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from holdfast.engines.base import KILLED
from holdfast.engines.local import AdoptedProcess
from holdfast.planes import words
from holdfast.run import gathering, stepper
from holdfast.step import apply


class ForkedProcess(AdoptedProcess):
    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self._status: int | None = None

    def cause(self) -> str:
        if self._status is None:
            self._status = os.waitpid(self.pid, 0)[1]
        killed = os.WIFSIGNALED(self._status) and os.WTERMSIG(self._status) == signal.SIGKILL
        return KILLED if killed else f"status {self._status}"


class ForkingEngine:
    """`deaths` says, per worker, at which point it kills itself; a worker that is not named lives."""

    def __init__(self, deaths: dict[int, int]) -> None:
        self.deaths = deaths
        self.started: list[int] = []

    def start(self, arguments: Sequence[str], log: Path, threads: int, inherited: Sequence[int]) -> ForkedProcess:
        worker = int(arguments[1])
        pid = os.fork()
        if pid == 0:
            _live(arguments, log, self.deaths.get(worker))
        self.started.append(pid)
        return ForkedProcess(pid)

    def adopt(self, pid: int, born_at: str) -> None:
        return None


def _live(arguments: Sequence[str], log: Path, death: int | None) -> None:
    """The child's whole life; never returns."""
    from holdfast.run import worker

    code = 1
    try:
        output = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if death is not None:
            _die_at(death)
        sys.argv = ["worker", *arguments]
        worker.main()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _die_at(count: int) -> None:
    left = count

    def reached(point: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def fence(point: str) -> None:
        reached(point)
        words.fence(point)

    for module in (apply, gathering, stepper):
        module.fence = fence
    for module in (gathering, stepper):
        module.reached = reached
