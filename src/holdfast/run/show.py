"""Looking on while a run goes: a live view on a terminal, plain lines anywhere else. All of it goes to stderr."""

import os
import sys
import time
import traceback
from typing import Any

from holdfast.job import Job
from holdfast.run.events import Note
from holdfast.run.progress import Snapshot
from holdfast.run.session import Show

_EVERY_S = 5.0
UNTOLD = ("failed", "trace")
"""Notes that are not shown as lines: the error itself ends the command, and a trace is shown by its own code lines."""


def default_show() -> Show:
    """What suits the place where this process writes to."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and "ipykernel" not in sys.modules:
        from holdfast.run.live import Live

        return Live()
    return Plain()


class Plain:
    """One line for each thing that happens, and one every few seconds."""

    def __init__(self) -> None:
        self._began = self._told = time.monotonic()
        self._step = 0
        self._traced = False

    def begin(self, run: str, job: Job) -> None:
        self._say(heading(run, job))

    def note(self, note: Note, trace: str, step: int) -> None:
        if note.kind not in UNTOLD:
            self._say(note.text)
        elif own := own_lines(trace):
            if not self._traced:
                print(f"{note.text}:\n{own}", file=sys.stderr, flush=True)
            self._traced = True

    def progress(self, snapshot: Snapshot) -> None:
        now = time.monotonic()
        if now - self._told >= _EVERY_S and snapshot.step != self._step:
            self._told, self._step = now, snapshot.step
            self._say(sentence(snapshot))

    def measured(self, step: int, metrics: dict[str, Any]) -> None:
        self._say(f"step {step}: {numbers(metrics)}")

    def end(self) -> None: ...

    def _say(self, text: str) -> None:
        print(f"[{time.monotonic() - self._began:6.1f} s] {text}", file=sys.stderr, flush=True)


def heading(run: str, job: Job) -> str:
    workers = job.crew.workers
    crew = "1 worker" if workers.max == 1 else f"{workers.written()} workers"
    return f"{run}: {job.model.use} on {job.data.use}, {job.train.replicas} replicas, {crew}"


def sentence(snapshot: Snapshot) -> str:
    """A moment of a run on one line."""
    parts = [f"step {snapshot.step:,} of {snapshot.steps:,}"]
    if snapshot.loss is not None:
        parts.append(f"loss {snapshot.loss:.4f}")
    if snapshot.samples_per_s is not None:
        parts.append(f"{snapshot.samples_per_s:,.0f} samples/s")
    if snapshot.eta_s is not None:
        parts.append(f"{clock(snapshot.eta_s)} left")
    if len(snapshot.replicas_per_s) > 1 and any(snapshot.replicas_per_s.values()):
        speeds = ", ".join(f"{worker}: {speed:,.0f}" for worker, speed in snapshot.replicas_per_s.items())
        parts.append(f"replicas/s of worker {speeds}")
    return ", ".join(parts)


def numbers(metrics: dict[str, Any]) -> str:
    """Those of the metrics that are a number each."""
    return ", ".join(f"{name} {value:.4f}" for name, value in metrics.items() if isinstance(value, int | float))


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def own_lines(trace: str) -> str:
    """The part of a traceback that is in the user's own code, or nothing: ours and torch's would not help."""
    blocks = trace.split('\n  File "')[1:]
    foreign = (os.path.dirname(os.path.dirname(__file__)), "/site-packages/", os.path.dirname(traceback.__file__), "<")
    own = [block for block in blocks if not any(place in block.partition('"')[0] for place in foreign)]
    return "\n".join(f'  File "{_body(block)}' for block in own)


def _body(block: str) -> str:
    """A frame and its source; what stands to the left of it belongs to the next part of the traceback."""
    head, *rest = block.split("\n")
    return "\n".join([head, *(line for line in rest if line.startswith("    "))])
