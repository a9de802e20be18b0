"""How a run is doing, in numbers: read off the gauges now and then, the same for a terminal, a pipe and a program."""

import statistics
from collections import deque
from dataclasses import dataclass

from holdfast.run.gauges import Gauges, Row
from holdfast.run.view import View

_WINDOW_S = 10.0


@dataclass(frozen=True)
class Snapshot:
    """One moment of a run. Rates are over the last seconds; None means not known yet."""

    step: int
    steps: int
    seconds: float
    loss: float | None
    samples_per_s: float | None
    eta_s: float | None
    replicas_per_s: dict[int, float]
    """Of each worker in the view."""


class Progress:
    """Remembers just enough of the past to know rates."""

    def __init__(self, gauges: Gauges, steps: int, now: float) -> None:
        self._gauges = gauges
        self._steps = steps
        self._start = now
        self._past: deque[tuple[float, int, dict[int, int]]] = deque()

    def read(self, view: View, now: float) -> Snapshot:
        step = self._gauges.committed
        counts = {worker: self._gauges.replicas_of(seat) for worker, seat in view.members}
        self._past.append((now, step, counts))
        while len(self._past) > 2 and now - self._past[0][0] > _WINDOW_S:
            self._past.popleft()
        last = self._gauges.rows(step - 1, step)[0] if step else None
        return self._snapshot(step, last, now)

    def _snapshot(self, step: int, last: Row | None, now: float) -> Snapshot:
        then, step_then, counts_then = self._past[0]
        passed, counts = now - then, self._past[-1][2]
        rate = (step - step_then) / passed if passed > 0 and step > step_then else None
        return Snapshot(
            step,
            self._steps,
            now - self._start,
            last.loss if last else None,
            rate * last.samples if rate and last else None,
            (self._steps - step) / rate if rate else None,
            {w: max(0, count - counts_then.get(w, 0)) / passed for w, count in counts.items()} if passed else {},
        )


@dataclass(frozen=True)
class Speed:
    """How fast a run was, from the times at which its steps were committed."""

    samples: int
    samples_per_s: float | None
    """Over the steady part: without the first tenth, in which memory is touched for the first time."""
    longest_step_s: float | None
    median_step_s: float | None


def speed_of(rows: list[Row]) -> Speed:
    samples = int(sum(row.samples for row in rows))
    steady = rows[max(1, len(rows) // 10) :] if len(rows) > 20 else rows
    if len(steady) < 2 or steady[-1].time <= steady[0].time:
        return Speed(samples, None, None, None)
    passed = [after.time - before.time for before, after in zip(steady, steady[1:], strict=False)]
    seen = sum(row.samples for row in steady[1:])
    rate = seen / (steady[-1].time - steady[0].time)
    return Speed(samples, rate, max(passed), statistics.median(passed))
