"""What else can change a bit: the machine's class and the versions of what computes. Read without importing torch."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve")


def environment() -> dict[str, str]:
    """Plain facts; equal ones mean equal bits."""
    packages = {name: _version(name) for name in ("torch", "numpy", "numba", "holdfast")}
    return {"python": platform.python_version(), **packages, "machine": platform.machine(), "cpu": _cpu()}


def differences(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """What is not as it was, for people."""
    names = [name for name in before | now if before.get(name) != now.get(name)]
    return [f"{name} {before.get(name, 'unknown')} → {now.get(name, 'unknown')}" for name in names]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _cpu() -> str:
    fields: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            fields.setdefault(name.strip(), value.strip())
    except OSError:
        return platform.processor()
    present = set((fields.get("flags") or fields.get("Features") or "").split())
    model = fields.get("model name", platform.processor())
    return " ".join([model, *(flag for flag in _FLAGS if flag in present)])
