"""What a change of the crew has cost: how long a step was held up by it, and how much of the step was kept."""

from itertools import pairwise
from statistics import median

from holdfast.run.events import Note
from holdfast.run.gauges import Entry, Gauges, Row

_USUAL_STEPS = 20


class Stalls:
    """Asked often; tells of each change once the step in which it came is done."""

    def __init__(self, gauges: Gauges, replicas: int) -> None:
        self._gauges = gauges
        self._replicas = replicas
        self._seen = gauges.entry.epoch
        self._pending: Entry | None = None

    def look(self) -> tuple[int, Note] | None:
        """The step, and what is to be said of it."""
        gauges, told = self._gauges, None
        if self._pending is not None and gauges.committed > self._pending.step:
            told = self._pending.step, Note("held_up", self._sentence(self._pending))
            self._pending = None
        entry = gauges.entry
        if entry.epoch != self._seen:
            self._pending = entry if self._seen else None
            self._seen = entry.epoch
        return told

    def _sentence(self, entry: Entry) -> str:
        step = entry.step
        rows = self._gauges.rows(max(self._gauges.began_at, step - _USUAL_STEPS), step + 1)
        torn = f", {entry.torn} torn piece{'s' * (entry.torn != 1)} restored" if entry.torn else ""
        kept = f"{entry.kept} of its {self._replicas} replicas kept"
        return f"step {step} was held up for {_late_s(rows):.2f} s; {kept}{torn}"


def _late_s(rows: list[Row]) -> float:
    """By how much the last of these steps took longer than the others did."""
    gaps = [after.time - before.time for before, after in pairwise(rows)]
    return max(0.0, gaps[-1] - median(gaps[:-1])) if len(gaps) > 1 else 0.0
