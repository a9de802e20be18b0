"""What the crew needs of an engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Process(Protocol):
    """A worker's process. `fileno` becomes readable when it has ended."""

    pid: int

    def fileno(self) -> int: ...

    def kill(self) -> None:
        """End it at once; no matter if it has ended already."""
        ...

    def cause(self) -> str:
        """Why it ended; waits for the end."""
        ...

    def close(self) -> None: ...


class Engine(Protocol):
    def start(self, arguments: Sequence[str], log: Path, threads: int, inherited: Sequence[int]) -> Process:
        """Start a worker with these arguments; its output goes to `log`, and it inherits the descriptors."""
        ...
