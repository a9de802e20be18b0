"""What a run leaves in the ledger and in its curves while it goes on.

A thread of its own writes to the ledger, in order. While the ledger cannot be written to, what is to be noted waits,
and the captain does not.
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Unpack

from holdfast.errors import HoldfastError, LedgerError
from holdfast.faults import reached
from holdfast.ledger import Ledger, RunChange
from holdfast.ledger.checkpoints import CheckpointInfo
from holdfast.ledger.curves import CurveWriter
from holdfast.run.events import Note
from holdfast.run.gauges import Gauges

_POINTS = 10_000
"""Steps of a curve that are noted; of longer runs every n-th. Checkpoints keep them all."""
_PAUSE_S = 1.0
_CLOSING_S = 60.0


class Record:
    """Writes for one run, until `close`. `saved` and `not_saved` may be called from the clerk's thread."""

    def __init__(self, ledger: Ledger, run: str, curves: CurveWriter) -> None:
        self._waiting: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._is_closing = threading.Event()
        self._scribe = threading.Thread(target=self._write, daemon=True)
        self._scribe.start()
        self._ledger = ledger
        self._run = run
        self._curves = curves
        self._noted: int | None = None
        noted = ledger.metrics(run, "train.loss")
        self._noted_before = noted[-1].step + 1 if noted else 0
        """Where the curves in the ledger ended: when everybody died, a later step may just have been saved."""
        self._noted_at = 0.0

    def note(self, note: Note, step: int, trace: str = "") -> None:
        self._event(note.kind, note.text, step, note.worker, {"trace": trace} if trace else None)

    def update(self, **change: Unpack[RunChange]) -> None:
        self._waiting.put(partial(self._ledger.update_run, self._run, **change))

    def saved(self, info: CheckpointInfo) -> None:
        self._waiting.put(partial(self._ledger.record_checkpoint, self._run, info))
        self._event("checkpoint", f"checkpoint of step {info.step} saved ({info.bytes / 2**20:.1f} MiB)", info.step)

    def not_saved(self, error: HoldfastError) -> None:
        self._event("checkpoint_failed", str(error))

    def measured(self, step: int, metrics: dict[str, Any]) -> None:
        """Numbers go to the curves; a confusion matrix, say, only to the event."""
        numbers = {name: float(value) for name, value in metrics.items() if isinstance(value, int | float)}
        self._points([(step, f"test.{name}", value) for name, value in numbers.items()])
        for name, value in numbers.items():
            self._curves.scalar(f"test/{name}", value, step, time.time())
        shown = ", ".join(f"{name} {value:.4f}" for name, value in numbers.items())
        self._event("measured", shown, step, detail=metrics)

    def points(self, gauges: Gauges, now: float) -> None:
        """Note the steps committed since the last time; cheap when called often."""
        if now - self._noted_at < _PAUSE_S or not gauges.is_prepared:
            return
        self._noted_at = now
        start = min(gauges.began_at, self._noted_before) if self._noted is None else self._noted
        stop = gauges.committed
        rows = gauges.rows(start, stop, max(1, gauges.layout["steps"] // _POINTS)) if stop > start else []
        self._noted = stop
        wall, present = time.time() - time.monotonic(), time.monotonic()
        columns = ("loss", "lr", "grad_norm") if any(row.grad_norm for row in rows) else ("loss", "lr")
        points = [(row.step, f"train.{name}", float(getattr(row, name))) for row in rows for name in columns]
        self._points(points)
        for row in rows:
            for name in columns:
                self._curves.scalar(f"train/{name}", getattr(row, name), row.step, wall + (row.time or present))
        if rows:
            self._curves.flush()
            self.update(steps_done=stop)

    def close(self) -> None:
        """Write all that waits. What cannot be written now is given up; who asks the ledger next will learn why."""
        self._waiting.put(None)
        self._is_closing.set()
        self._scribe.join(_CLOSING_S)

    def _event(
        self,
        kind: str,
        text: str,
        step: int | None = None,
        worker: int | None = None,
        detail: dict[str, Any] | None = None,
    ) -> None:
        write = self._ledger.add_event
        self._waiting.put(
            partial(write, self._run, kind, text, step=step, worker=worker, detail=detail, at=time.time())
        )

    def _points(self, points: list[tuple[int, str, float]]) -> None:
        self._waiting.put(partial(self._ledger.add_metrics, self._run, points))

    def _write(self) -> None:
        while (write := self._waiting.get()) is not None:
            while True:
                is_last_try = self._is_closing.is_set()
                if self._is_written(write):
                    break
                if is_last_try:
                    return
                self._is_closing.wait(_PAUSE_S)

    def _is_written(self, write: Callable[[], object]) -> bool:
        try:
            write()
        except LedgerError:
            return False
        reached("ledger.noted")
        return True
