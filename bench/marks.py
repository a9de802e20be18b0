"""The steps of a job that is struck: its processes write down every try at one, and whoever strikes reads that.

This is all that the sides of `make bench-faults` have in common, so that each is measured alike.
"""

import os
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import median

_RECORD = struct.Struct("<dqq")
_USUAL_STEPS = 50
_FIRST_STEPS = 10


@dataclass(frozen=True)
class Mark:
    """The end of one try at a step, by the machine's monotonic clock.

    `step` is how many steps are committed then; `parts`, how many workers' gradients are in this one, or 0 if it came
    to nothing.
    """

    time: float
    step: int
    parts: int


class Marks:
    """Written by a process of the job; its successor goes on in the same file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def add(self, step: int, parts: int) -> None:
        os.write(self._file, _RECORD.pack(time.monotonic(), step, parts))


def read_marks(path: Path) -> list[Mark]:
    data = path.read_bytes() if path.exists() else b""
    return [Mark(*fields) for fields in _RECORD.iter_unpack(data[: len(data) // _RECORD.size * _RECORD.size])]


def committed(marks: Sequence[Mark], since: float) -> list[Mark]:
    return [mark for mark in marks if mark.parts and mark.time > since]


def steps_s(marks: Sequence[Mark]) -> list[float]:
    """How long each step took, but for the first ones, in which memory is touched for the first time."""
    times = [mark.time for mark in marks if mark.parts][_FIRST_STEPS:]
    return [after - before for before, after in pairwise(times)]


def usual_s(marks: Sequence[Mark], before: float) -> float:
    """The usual time from one committed step to the next."""
    times = [mark.time for mark in marks if mark.parts and mark.time <= before]
    return median(after - then for then, after in pairwise(times[-_USUAL_STEPS:]))


def stall_s(marks: Sequence[Mark], since: float) -> float:
    """The longest time between two committed steps of which the later came after the moment, less the usual one."""
    return _longest_s([mark for mark in marks if mark.parts], since)


def regained_s(marks: Sequence[Mark], since: float) -> float:
    """The same, but steps that had been committed before do not count."""
    furthest = accumulate((mark.step for mark in marks), max, initial=0)
    return _longest_s([mark for mark, before in zip(marks, furthest, strict=False) if mark.step > before], since)


def lost_steps(marks: Sequence[Mark], since: float) -> int:
    """How many committed steps had to be done again."""
    done = [mark for mark in marks if mark.parts]
    return sum(max(0, before.step + 1 - after.step) for before, after in pairwise(done) if after.time > since)


def _longest_s(marks: Sequence[Mark], since: float) -> float:
    gaps = [after.time - before.time for before, after in pairwise(marks) if after.time > since]
    return max(gaps) - usual_s(marks, since)
