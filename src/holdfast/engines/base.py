"""What the crew needs of an engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

KILLED = "it was killed by SIGKILL"
"""The cause of a death that anybody may have brought about."""


class Activity(NamedTuple):
    """How a process has been used: seconds of processor time, and whether a signal has stopped it just now."""

    processor_s: float
    stopped: bool


class Process(Protocol):
    """A worker's process. `fileno` becomes readable when it has ended."""

    pid: int
    born: str
    """When it began: with the pid it names one process for good."""

    def fileno(self) -> int: ...

    def kill(self) -> None:
        """End it at once; no matter if it has ended already."""
        ...

    def cause(self) -> str:
        """Why it ended; waits for the end."""
        ...

    def activity(self) -> "Activity":
        """What the system knows of its doings."""
        ...

    def close(self) -> None: ...


class Engine(Protocol):
    def start(self, arguments: Sequence[str], log: Path, threads: int, inherited: Sequence[int]) -> Process:
        """Start a worker with these arguments; its output goes to `log`, and it inherits the descriptors."""
        ...

    def adopt(self, pid: int, born_at: str) -> Process | None:
        """A worker that another process started; None when it has ended."""
        ...
