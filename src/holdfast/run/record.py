"""What a run leaves in the ledger and in its curves while it goes on."""

import time
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.ledger import Ledger
from holdfast.ledger.checkpoints import CheckpointInfo
from holdfast.ledger.curves import CurveWriter
from holdfast.run.events import Note
from holdfast.run.gauges import Gauges

_POINTS = 10_000
"""Steps of a curve that are noted; of longer runs every n-th. Checkpoints keep them all."""
_PAUSE_S = 1.0


class Record:
    """Writes for one run. `saved` and `not_saved` may be called from the clerk's thread."""

    def __init__(self, ledger: Ledger, run: str, curves: CurveWriter) -> None:
        self._ledger = ledger
        self._run = run
        self._curves = curves
        self._noted: int | None = None
        self._noted_at = 0.0

    def note(self, note: Note, step: int, trace: str = "") -> None:
        detail = {"trace": trace} if trace else None
        self._ledger.add_event(self._run, note.kind, note.text, step=step, worker=note.worker, detail=detail)

    def saved(self, info: CheckpointInfo) -> None:
        self._ledger.record_checkpoint(self._run, info)
        size = f"{info.bytes / 2**20:.1f} MiB"
        self._ledger.add_event(
            self._run, "checkpoint", f"checkpoint of step {info.step} saved ({size})", step=info.step
        )

    def not_saved(self, error: HoldfastError) -> None:
        self._ledger.add_event(self._run, "checkpoint_failed", str(error))

    def measured(self, step: int, metrics: dict[str, Any]) -> None:
        """Numbers go to the curves; a confusion matrix, say, only to the event."""
        numbers = {name: float(value) for name, value in metrics.items() if isinstance(value, int | float)}
        self._ledger.add_metrics(self._run, [(step, f"test.{name}", value) for name, value in numbers.items()])
        for name, value in numbers.items():
            self._curves.scalar(f"test/{name}", value, step, time.time())
        shown = ", ".join(f"{name} {value:.4f}" for name, value in numbers.items())
        self._ledger.add_event(self._run, "measured", shown, step=step, detail=metrics)

    def points(self, gauges: Gauges, now: float) -> None:
        """Note the steps committed since the last time; cheap when called often."""
        if now - self._noted_at < _PAUSE_S or not gauges.is_prepared:
            return
        self._noted_at = now
        start = gauges.began_at if self._noted is None else self._noted
        stop = gauges.committed
        rows = gauges.rows(start, stop, max(1, gauges.layout["steps"] // _POINTS)) if stop > start else []
        self._noted = stop
        wall = time.time() - time.monotonic()
        columns = ("loss", "lr", "grad_norm") if any(row.grad_norm for row in rows) else ("loss", "lr")
        points = [(row.step, f"train.{name}", float(getattr(row, name))) for row in rows for name in columns]
        self._ledger.add_metrics(self._run, points)
        for row in rows:
            for name in columns:
                self._curves.scalar(f"train/{name}", getattr(row, name), row.step, wall + row.time)
        if rows:
            self._curves.flush()
            self._ledger.update_run(self._run, steps_done=stop)
