"""A small run with everything in it, whose processes are struck by HOLDFAST_FAULT until it comes to its end."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from terminal import DEADLINE_S, Terminal

from holdfast.engines.local import born
from holdfast.ledger import Ledger
from holdfast.run.launch import is_alive

NET = """\
import torch
from torch import nn
from holdfast.data.source import Dataset, TensorSource

def net():
    return nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2))

def data():
    inputs = torch.randn(400, 20, generator=torch.Generator().manual_seed(1))
    labels = (inputs.sum(1) > 0).long()
    kind = {"task": "classification", "n_classes": 2}
    return Dataset(TensorSource(inputs[:320], labels[:320]), TensorSource(inputs[320:], labels[320:]), kind)
"""
JOB = """\
name = "struck"
model = "net.py:net"
data = "net.py:data"
[train]
replicas = 4
batch = 16
steps = 120
loss = "cross_entropy"
clip_norm = 1.0
[evaluate]
every_steps = 20
batch = 20
metrics = ["accuracy", "log_loss"]
[checkpoint]
every_steps = 10
keep = 1
[crew]
patience_s = 5.0
restarts = 100
"""
MOST_BEGINNINGS = 5
SAME = ("status", "steps", "samples", "state_sha256", "model_sha256", "metrics", "loss")


class Struck:
    """One run, begun and resumed until it is finished."""

    def __init__(self, terminal: Terminal, fault: str, *words: str) -> None:
        terminal.write("net.py", NET)
        terminal.write("job.toml", JOB)
        self._terminal = terminal
        self._fault = fault
        self._awake: set[Path] = set()
        self.told: list[str] = []
        """What the commands wrote to stderr, in their order."""
        self._live("run", "job.toml", "--workers", "2", "--json", *words)
        for _ in range(MOST_BEGINNINGS):
            if terminal.status() == "finished":
                return
            self._live("resume", "last", "--json")
        raise AssertionError(f"{fault} is the end of it: {self.told}")

    @property
    def result(self) -> dict[str, Any]:
        """What must be the same whatever struck the run."""
        with Ledger.open(self._terminal.home) as ledger:
            run = ledger.run("last")
            curves = [(point.step, point.name, point.value) for point in ledger.metrics(run.id)]
        return {**{what: (run.result or {}).get(what) for what in SAME}, "curves": curves}

    def has_happened(self) -> bool:
        """Whether all faults have."""
        return len(self._marks()) == len(self._fault.split(","))

    def leftovers(self) -> list[Any]:
        """What is there that should not; of a process killed at the very end the next command has to tidy up."""
        if self._was_killed:
            self._terminal.type("clean")
        left = self._terminal.type("clean", "--dry-run", "--json").json["leftovers"]
        return [*left, *self._terminal.home.glob("crashes/*")]

    def _live(self, *words: str) -> None:
        """Until the command has ended, and nobody is left who might go on."""
        process = self._terminal.start(*words, fault=self._fault)
        deadline = time.monotonic() + DEADLINE_S
        while process.poll() is None or self._goes_on():
            if time.monotonic() > deadline:
                self._end(process)
                raise AssertionError(f"{words} hangs: {self._logs()}")
            self._wake()
            time.sleep(0.02)
        self.told.append(process.communicate()[1])
        self._was_killed = process.returncode == -signal.SIGKILL

    def _end(self, process: subprocess.Popen[str]) -> None:
        """Kill everybody, so that a test that fails leaves nobody behind."""
        for pid in [process.pid, *self._terminal.workers()]:
            os.kill(pid, signal.SIGKILL)
        process.communicate()

    def _goes_on(self) -> bool:
        with Ledger.open(self._terminal.home) as ledger:
            return any(is_alive(ledger, run.id) for run in ledger.runs(1)) or self._terminal.workers() != []

    def _wake(self) -> None:
        """Whoever executes the run wakes up again when it was stopped; a worker must be helped by its captain."""
        for mark in set(self._marks()) - self._awake:
            who = mark.read_text()
            if who == "" or ("=stop" in mark.name and not self._is_awake(int(who))):
                continue
            self._awake.add(mark)

    def _is_awake(self, pid: int) -> bool:
        """Whether it was stopped, and goes on now, or need not."""
        if born(pid) == "gone" or pid in self._terminal.workers():
            return True
        if Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "T":
            return False
        os.kill(pid, signal.SIGCONT)
        return True

    def _marks(self) -> list[Path]:
        return sorted(self._terminal.home.glob("runs/*/fault-*"))

    def _logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self._terminal.home.glob("runs/*/logs/*.log")))
