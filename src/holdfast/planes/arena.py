"""The shared memory of a run on one host.

It is a memfd: a file without a name that lives as long as any process holds it. So it outlives every single worker,
nobody without the descriptor can open it, and nothing can be left behind in /dev/shm when everybody dies.
"""

import contextlib
import ctypes
import mmap
import os
from pathlib import Path

from holdfast.errors import ResourceError

PAGE = 4096
_MADV_POPULATE_WRITE = 23


def create(name: str) -> int:
    """Make an empty arena and return its descriptor, which child processes are to inherit."""
    fd = os.memfd_create(f"holdfast-{name}", 0)
    os.set_inheritable(fd, True)
    os.fchmod(fd, 0o600)
    return fd


def is_arena(path: Path, name: str) -> bool:
    """Whether a descriptor of some process, as /proc shows it, is that of the arena with this name."""
    return str(path.readlink()).startswith(f"/memfd:holdfast-{name} ")


class Arena:
    """One process's mapping of the run's shared memory; `buffer` stays valid until `close`."""

    def __init__(self, fd: int, size: int) -> None:
        if os.fstat(fd).st_size < size:
            os.ftruncate(fd, size)
        self.fd = fd
        self.size = size
        self._map = mmap.mmap(fd, size)
        # Large pages save most page faults of the first steps; a kernel without them just says no.
        with contextlib.suppress(OSError):
            self._map.madvise(mmap.MADV_HUGEPAGE)
        self.buffer = memoryview(self._map)

    def bytes_at(self, offset: int, size: int) -> memoryview:
        return self.buffer[offset : offset + size]

    def populate(self, offset: int, size: int) -> None:
        """Have the system find pages for a range now rather than at its first use; what they hold stays as it is."""
        first, last = offset // PAGE * PAGE, min(-(-(offset + size) // PAGE) * PAGE, len(self._map))
        # Linux before 5.14 does not know how; it finds the pages later.
        with contextlib.suppress(OSError):
            self._map.madvise(_MADV_POPULATE_WRITE, first, last - first)

    def release(self, offset: int, size: int) -> None:
        """Give the pages of a range back to the system; it reads as zeros afterwards."""
        first, last = -(-offset // PAGE) * PAGE, (offset + size) // PAGE * PAGE
        if last > first:
            self._map.madvise(mmap.MADV_REMOVE, first, last - first)


def give_back_freed_memory() -> None:
    """Ask the C library to return what it keeps for later; another library than glibc has nothing to be asked."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def available_memory() -> int:
    """Bytes that this process may still take: the machine's, or its control group's where that is less."""
    return min(_machine_available(), _group_available())


def require_memory(needed: int, what: str) -> None:
    """Refuse, with the numbers, what cannot fit."""
    if needed > available_memory():
        raise too_little(needed, what)


def too_little(needed: int, what: str) -> ResourceError:
    return ResourceError(
        f"{what} needs {needed / 2**30:.2f} GiB of memory, and {available_memory() / 2**30:.2f} GiB are available; "
        "use a smaller model, fewer workers, or a machine with more memory"
    )


def _machine_available() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 2**62


def _group_available() -> int:
    root = Path("/sys/fs/cgroup")
    try:
        limit, used = (root / "memory.max").read_text().strip(), (root / "memory.current").read_text()
    except OSError:
        return 2**62
    return 2**62 if limit == "max" else max(0, int(limit) - int(used))
