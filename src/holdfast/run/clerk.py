"""The clerk: writes checkpoints while the crew goes on."""

import math
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.faults import reached
from holdfast.job import CheckpointSpec
from holdfast.ledger.checkpoints import CheckpointInfo, retain, sweep, write
from holdfast.run.gauges import Gauges
from holdfast.run.place import RunPlace

_NICE = 15
_RECENT_STEPS = 20
_SOON_S = 120.0
"""If the next snapshot is due sooner than this, the shadow's memory is kept for it."""
_CHUNK_BYTES = 2 << 20
_PACE = 2
"""Of this many moments, finding pages for the shadow takes one."""
_BYTES_PER_S = 50 << 20
"""How fast pages are found at least, on a busy machine; so it is known when to begin."""


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
        self._is_ready = False
        self._leaving = threading.Event()
        self._wished_at: float | None = None
        sweep(place.checkpoints)

    def look(self, gauges: Gauges, now: float) -> None:
        """Called often: get ready for a snapshot, wish for it when it is time, and save one that is there."""
        every = self._spec.every_minutes
        if self._wished_at is None:
            self._wished_at = now
        if every is not None and now - self._wished_at >= 60.0 * every:
            self._wished_at = now
            gauges.wish_snapshot()
        if self._is_busy:
            return
        step = gauges.shadow_step
        if step is not None:
            self._begin(self._save_shadow, gauges, step)
        elif not self._is_ready and self._seconds_left(gauges, now) < gauges.layout["shadow_bytes"] / _BYTES_PER_S + 1:
            self._is_ready = True
            self._begin(self._make_ready, gauges)

    def settle(self) -> None:
        """Wait for what is being written."""
        self._leaving.set()
        if self._thread is not None:
            self._thread.join()

    def save_committed(self, gauges: Gauges) -> None:
        """Save the committed state itself; the crew must be at rest."""
        self._save(gauges, gauges.committed, from_shadow=False)

    @property
    def _is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _begin(self, work: Callable[..., None], *arguments: Any) -> None:
        self._thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._thread.start()

    def _seconds_left(self, gauges: Gauges, now: float) -> float:
        """Until the next snapshot, at the speed of the last steps."""
        left = [math.inf]
        if self._spec.every_minutes is not None and self._wished_at is not None:
            left.append(self._wished_at + 60.0 * self._spec.every_minutes - now)
        last = gauges.rows(max(gauges.began_at, gauges.committed - _RECENT_STEPS), gauges.committed, _RECENT_STEPS)
        if self._spec.every_steps is not None and len(last) > 1:
            pace = (last[-1].time - last[0].time) / (last[-1].step - last[0].step)
            left.append(pace * (self._spec.every_steps - gauges.committed % self._spec.every_steps))
        return min(left)

    def _make_ready(self, gauges: Gauges) -> None:
        """Find memory for the shadow little by little; in the step that fills it, it would hold up everybody."""
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        start, began = 0, time.monotonic()
        while gauges.shadow_step is None and gauges.populate_shadow(start, _CHUNK_BYTES):
            start += _CHUNK_BYTES
            if self._leaving.wait((_PACE - 1) * (time.monotonic() - began)):
                return
            began = time.monotonic()

    def _save_shadow(self, gauges: Gauges, step: int) -> None:
        # Linux has a niceness per thread: the copy to disk takes only what the workers leave.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        reached("shadow.seen")
        try:
            self._save(gauges, step, from_shadow=True)
        except HoldfastError as error:
            self._failed(error)
        finally:
            reached("shadow.saved")
            self._is_ready = self._seconds_left(gauges, time.monotonic()) < _SOON_S
            gauges.release_shadow(give_back=not self._is_ready)
            reached("shadow.released")

    def _save(self, gauges: Gauges, step: int, from_shadow: bool) -> None:
        sections = gauges.sections(step, from_shadow)
        self._saved(write(self._place.checkpoints, step, sections, self._meta))
        reached("checkpoint.saved")
        try:
            retain(self._place.checkpoints, self._spec.keep, step)
        except HoldfastError as error:
            self._failed(error)  # what is new is safe; what is old only takes room
