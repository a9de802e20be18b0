"""How a run is doing, in numbers: read off the gauges now and then, the same for a terminal, a pipe and a program."""

import itertools
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


@dataclass(frozen=True)
class _Mark:
    """How far things were at some time; `replicas` counts what each worker has computed."""

    time: float
    step: int
    samples: float
    replicas: dict[int, int]


class Progress:
    """Remembers just enough of the past to know rates."""

    def __init__(self, gauges: Gauges, steps: int, now: float) -> None:
        self._gauges = gauges
        self._steps = steps
        self._start = now
        self._past: deque[_Mark] = deque()

    def read(self, view: View, now: float) -> Snapshot:
        if not self._gauges.is_prepared:
            return Snapshot(0, self._steps, now - self._start, None, None, None, {})
        self._past.append(self._mark(view, now))
        while len(self._past) > 2 and now - self._past[0].time > _WINDOW_S:
            self._past.popleft()
        return self._snapshot(self._past[0], self._past[-1])

    def _mark(self, view: View, now: float) -> _Mark:
        step = self._gauges.committed
        before = self._past[-1] if self._past else _Mark(now, step, 0.0, {})
        # Samples are counted, not estimated: the last batch of an epoch may be a small one.
        samples = before.samples + sum(row.samples for row in self._gauges.rows(before.step, step))
        return _Mark(now, step, samples, {worker: self._gauges.replicas_of(seat) for worker, seat in view.members})

    def _snapshot(self, then: _Mark, now: _Mark) -> Snapshot:
        passed = now.time - then.time
        moved = passed > 0 and now.step > then.step
        last = self._gauges.rows(now.step - 1, now.step)[0] if now.step else None
        counts = then.replicas
        return Snapshot(
            now.step,
            self._steps,
            now.time - self._start,
            last.loss if last else None,
            (now.samples - then.samples) / passed if moved else None,
            (self._steps - now.step) * passed / (now.step - then.step) if moved else None,
            {w: max(0, n - counts.get(w, 0)) / passed for w, n in now.replicas.items()} if passed > 0 else {},
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
    passed = [after.time - before.time for before, after in itertools.pairwise(steady)]
    seen = sum(row.samples for row in steady[1:])
    rate = seen / (steady[-1].time - steady[0].time)
    return Speed(samples, rate, max(passed), statistics.median(passed))
