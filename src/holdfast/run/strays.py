"""Workers as the system shows them, to a process that did not start them."""

import os
import select
from dataclasses import dataclass
from pathlib import Path

from holdfast.engines.local import LocalEngine, born

_DEATH_S = 1.0


@dataclass(frozen=True, slots=True)
class Stray:
    """A process of this user that was started as the engine starts workers, for the run with this directory."""

    pid: int
    born: str
    root: Path


def workers() -> list[Stray]:
    """All that live, of whatever run."""
    found = [_worker_at(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [worker for worker in found if worker is not None]


def kill(stray: Stray) -> bool:
    """End it, if it is still the worker that it was; whether it is gone."""
    process = LocalEngine().adopt(stray.pid, stray.born)
    if process is None:
        return True
    try:
        # Asked again now that it is held: what is killed is what was looked at, whoever has its pid later.
        if _worker_at(stray.pid) != stray:
            return False
        process.kill()
        ending = select.poll()
        ending.register(process, select.POLLIN)
        return bool(ending.poll(_DEATH_S * 1000))
    finally:
        process.close()


def _worker_at(pid: int) -> Stray | None:
    entry = Path(f"/proc/{pid}")
    try:
        match (entry / "cmdline").read_bytes().split(b"\0"):
            case [_, b"-m", b"holdfast.run.worker", root, *_] if entry.stat().st_uid == os.getuid():
                return Stray(pid, born(pid), (entry / "cwd" / os.fsdecode(root)).resolve())
    except OSError:
        pass  # it has ended
    return None
