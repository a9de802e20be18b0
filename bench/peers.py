"""The sides that are not ours. Samples/s are those of all processes together."""

import importlib.util
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from commands import UnavailableError, output, peak_pss, python, torchrun

ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
"""What Holdfast sets for its own workers, so that freed memory is not faulted in again every step."""


def ddp_rate(case: str, steps: int, environment: Mapping[str, str] | None = None) -> float:
    return float(output(torchrun(2, "peer_ddp.py", case, steps), environment))


def alone_rate(
    case: str, steps: int, processes: int, environment: Mapping[str, str] | None = None, parts: int = 1
) -> float:
    return float(output(python("peer_alone.py", case, steps, processes, parts), environment))


def torchrun_start_s() -> float:
    begin = time.time()
    return float(output(torchrun(2, "start_ddp.py"))) - begin


def ray_start_s() -> float:
    if importlib.util.find_spec("ray") is None:
        raise UnavailableError("ray not installed")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "first_step"
        begin = time.time()
        output(python("start_ray.py", file))
        return float(file.read_text()) - begin


def ddp_peak_bytes(case: str, steps: int) -> float:
    """Of the four ranks; torchrun's own process is not counted."""
    return peak_pss(torchrun(4, "peer_ddp.py", case, steps), 4, with_launcher=False)


def copy_s(num_bytes: int) -> float:
    """A plain copy of memory in one thread, to memory that was not used before."""
    return float(output(python("memory_copy.py", num_bytes)))
