"""When the user asked: the start of this process, from which the time to the first step counts."""

import os
import time
from pathlib import Path


def asked_at() -> float:
    """On the clock of `time.monotonic`; now, where the system does not say."""
    now = time.monotonic()
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return now
    # A container may count from another boot than the clock does; what cannot be true is not believed.
    return now - age if 0 <= age < 60 else now
