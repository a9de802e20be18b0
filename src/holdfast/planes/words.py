"""Cells of 64 bits in shared memory, each written by one process at a time and watched by others.

An aligned 8-byte store is one instruction, so a reader sees the old value or the new one. The order in which stores
become visible is the program's on x86-64; `fence` asks the same of processors with weaker rules.
"""

import threading
import time
from collections.abc import Callable, Sequence

from holdfast import faults

Words = memoryview
_SPINS = 300
_NAP_S = 0.00005
_LONG_NAP_S = 0.001
_fence_lock = threading.Lock()


def words_of(buffer: memoryview) -> Words:
    return buffer.cast("Q")


def _fence(point: str) -> None:
    with _fence_lock:
        pass


def _fence_to_die_at(point: str) -> None:
    faults.reached(point)
    _fence(point)


fence = _fence_to_die_at if faults.ASKED else _fence
"""Make earlier stores visible before later ones; taking a lock is a full barrier everywhere.

Where order matters, a death does, too: each fence is a place of `holdfast.faults`, named by a literal.
"""


def wait_until(reached: Callable[[], bool], broken: Callable[[], bool], deadline_s: float) -> bool:
    """Wait for `reached`; False when `broken` came first or the deadline passed.

    Spins briefly (the others are usually microseconds away), then sleeps, since workers may outnumber cores.
    """
    for _ in range(_SPINS):
        if reached():
            return True
    return _sleep_until(reached, broken, deadline_s)


def _sleep_until(reached: Callable[[], bool], broken: Callable[[], bool], deadline_s: float) -> bool:
    start = time.monotonic()
    while not reached():
        if broken():
            return False
        waited = time.monotonic() - start
        if waited > deadline_s:
            return False
        # A long wait means that a peer computes for long; polling it hotly would take the processor from it.
        time.sleep(_NAP_S if waited < 0.1 else _LONG_NAP_S)
    return True


def all_at_least(words: Words, cells: Sequence[int], value: int) -> bool:
    return all(words[cell] >= value for cell in cells)
