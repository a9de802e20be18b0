"""The clerk: writes checkpoints while the crew goes on."""

import os
import threading
from collections.abc import Callable
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.job import CheckpointSpec
from holdfast.ledger.checkpoints import CheckpointInfo, retain, sweep, write
from holdfast.run.gauges import Gauges
from holdfast.run.place import RunPlace

_NICE = 15


class Clerk:
    """Saves the shadow whenever it is full. One at a time, in a thread that yields to everybody else."""

    def __init__(
        self,
        place: RunPlace,
        spec: CheckpointSpec,
        meta: dict[str, Any],
        saved: Callable[[CheckpointInfo], None],
        failed: Callable[[HoldfastError], None],
    ) -> None:
        self._place = place
        self._spec = spec
        self._meta = meta
        self._saved = saved
        self._failed = failed
        self._thread: threading.Thread | None = None
        self._wished_at: float | None = None
        place.checkpoints.mkdir(exist_ok=True)
        sweep(place.checkpoints)

    def look(self, gauges: Gauges, now: float) -> None:
        """Called often: wish for a snapshot when it is time, and save one that is there."""
        every = self._spec.every_minutes
        if self._wished_at is None:
            self._wished_at = now
        if every is not None and now - self._wished_at >= 60.0 * every:
            self._wished_at = now
            gauges.wish_snapshot()
        step = gauges.shadow_step
        if step is not None and not self._is_busy:
            self._thread = threading.Thread(target=self._save_shadow, args=(gauges, step), daemon=True)
            self._thread.start()

    def settle(self) -> None:
        """Wait for what is being written."""
        if self._thread is not None:
            self._thread.join()

    def save_committed(self, gauges: Gauges) -> None:
        """Save the committed state itself; the crew must be at rest."""
        self._save(gauges, gauges.committed, from_shadow=False)

    @property
    def _is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _save_shadow(self, gauges: Gauges, step: int) -> None:
        # Linux has a niceness per thread: the copy to disk takes only what the workers leave.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        try:
            self._save(gauges, step, from_shadow=True)
        except HoldfastError as error:
            self._failed(error)
        finally:
            gauges.release_shadow()

    def _save(self, gauges: Gauges, step: int, from_shadow: bool) -> None:
        sections = gauges.sections(step, from_shadow)
        self._saved(write(self._place.checkpoints, step, sections, self._meta))
        retain(self._place.checkpoints, self._spec.keep)
