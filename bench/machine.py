"""On what, and under which load, a measurement was made."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def machine_lines() -> list[str]:
    """To be asked before anything is measured: other work on the machine makes every number doubtful."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return [
        f"- machine: {_cpu()}, {os.cpu_count()} cores, {memory_gb:.0f} GB, Linux {platform.release()}",
        f"- software: Python {platform.python_version()}, torch {version('torch')}, Holdfast {_commit()}",
        f"- load just before: {os.getloadavg()[0]:.2f}",
    ]


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str:
    """The version, the commit, and whether the working tree differs from it."""
    command = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    return f"{version('holdfast')} ({found.stdout.strip() or 'not a git checkout'})"
