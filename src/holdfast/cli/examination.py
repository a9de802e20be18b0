"""The doctor's examinations, one function each."""

import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from holdfast.errors import HoldfastError

_EXTRAS = ("pandas", "scikit-learn", "tensorboard")
_TOO_LITTLE_MEMORY = 2**30
_TOO_LITTLE_DISK = 2**30
_TOO_FEW_FILES = 256


@dataclass(frozen=True)
class Finding:
    """What was found; `mend` says what is wrong and what to do about it, and is empty if nothing is."""

    name: str
    found: str
    mend: str = ""


def examine() -> list[Finding]:
    """All examinations; one that fails itself is a finding, too."""
    return [_examined(look) for look in _LOOKS]


def _examined(look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except HoldfastError as error:
        return Finding(look.__name__.strip("_"), "cannot be used", str(error))
    except Exception as error:
        return Finding(look.__name__.strip("_"), f"{type(error).__name__}: {error}", "repair or reinstall it")


def _system() -> Finding:
    is_linux = sys.platform == "linux"
    return Finding(
        "system", platform.platform(), "" if is_linux else "Holdfast runs on Linux only: use a Linux machine"
    )


def _cores() -> Finding:
    usable, there = len(os.sched_getaffinity(0)), os.cpu_count()
    quota = _read("/sys/fs/cgroup/cpu.max").split()
    limit = f", limited to {int(quota[0]) / int(quota[1]):g} of them" if quota and quota[0] != "max" else ""
    return Finding("cores", f"{usable} usable of {there}{limit}")


def _memory() -> Finding:
    from holdfast.planes.arena import available_memory

    available = available_memory()
    mend = "" if available >= _TOO_LITTLE_MEMORY else "less than 1 GiB is left: end other programs or raise the limit"
    return Finding("memory", f"{available / 2**30:.1f} GiB available", mend)


def _shared_memory() -> Finding:
    from holdfast.planes.arena import PAGE, Arena, create

    descriptor = create("doctor")
    try:
        Arena(descriptor, PAGE).buffer[0] = 1
    finally:
        os.close(descriptor)
    return Finding("shared memory", "memfd works")


def _limits() -> Finding:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    threads = _read("/proc/sys/kernel/threads-max").strip() or "?"
    mend = "fewer than 256 open files are allowed: `ulimit -n 4096`" if 0 <= files < _TOO_FEW_FILES else ""
    return Finding("limits", f"{_limit(files)} open files, {_limit(processes)} processes, {threads} threads", mend)


def _python() -> Finding:
    mend = "" if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed"
    return Finding("python", f"{platform.python_version()} at {sys.executable}", mend)


def _torch() -> Finding:
    import torch

    numbers = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    mend = "" if numbers >= (2, 9) else "torch 2.9 or newer is needed: `pip install --upgrade torch`"
    return Finding("torch", f"{torch.__version__}, {torch.backends.cpu.get_cpu_capability()}", mend)


def _gpu() -> Finding:
    import torch

    names = [torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())]
    return Finding("gpu", ", ".join(names) or "none (none is needed: this version trains on the CPU)")


def _extras() -> Finding:
    return Finding("extras", ", ".join(f"{name} {_version(name)}" for name in _EXTRAS))


def _ledger() -> Finding:
    from holdfast.ledger import Ledger
    from holdfast.ledger.place import filesystem
    from holdfast.ledger.schema import HEAD

    with Ledger.open() as ledger:
        kind = filesystem(ledger.home, Path("/proc/mounts").read_text()) or "unknown file system"
        return Finding("ledger", f"{ledger.home} ({kind}), revision {HEAD}, {len(ledger.runs())} runs")


def _disk() -> Finding:
    from holdfast.ledger import home

    place = next(path for path in (home(), *home().parents) if path.exists())
    free = shutil.disk_usage(place).free
    mend = "" if free >= _TOO_LITTLE_DISK else "less than 1 GiB is free: make room, or set HOLDFAST_HOME elsewhere"
    return Finding("disk", f"{free / 2**30:.1f} GiB free for runs at {place}", mend)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


_LOOKS = (_system, _cores, _memory, _shared_memory, _limits, _python, _torch, _gpu, _extras, _ledger, _disk)
