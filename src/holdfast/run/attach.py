"""Looking on at a run that another process executes, as if it were executed here."""

import os
import time
from pathlib import Path
from typing import Any

from holdfast.errors import RunError
from holdfast.ledger import UNFINISHED, Event, Ledger
from holdfast.planes.arena import Arena, is_arena
from holdfast.run.events import Note
from holdfast.run.gauges import Gauges
from holdfast.run.launch import place_of, status_of
from holdfast.run.place import RunPlace
from holdfast.run.progress import Progress
from holdfast.run.session import Show
from holdfast.run.view import View

_LOOK_S = 0.2


def attach(ledger: Ledger, run: str, show: Show) -> dict[str, Any]:
    """Show the run until it is over; its result. Whoever stops looking changes nothing."""
    onlooker = _Onlooker(ledger, run, show)
    if status_of(ledger, run) not in UNFINISHED:
        raise RunError(f"run {run} is not being executed (its status is {status_of(ledger, run)}); see `holdfast show`")
    show.begin(run, onlooker.place.job())
    try:
        while onlooker.goes_on():
            onlooker.look()
            time.sleep(_LOOK_S)
        onlooker.look()
    finally:
        show.end()
        onlooker.close()
    return ledger.run(run).result or {}


class _Onlooker:
    def __init__(self, ledger: Ledger, run: str, show: Show) -> None:
        self.place: RunPlace = place_of(ledger, run)
        self._ledger = ledger
        self._run = run
        self._show = show
        self._last_event = max((event.id for event in ledger.events(run)), default=0)
        self._arena: int | None = None
        self._progress: Progress | None = None

    def goes_on(self) -> bool:
        return status_of(self._ledger, self._run) in UNFINISHED

    def look(self) -> None:
        for event in self._ledger.events(self._run, self._last_event):
            self._last_event = event.id
            self._tell(event)
        standing = self.place.read_standing()
        if standing is None:
            return
        if self._progress is None:
            self._find_memory(standing["arena"])
        if self._progress is not None:
            view = View.of(standing["epoch"], standing["view"], standing["cuts"])
            self._show.progress(self._progress.read(view, time.monotonic()))

    def close(self) -> None:
        if self._arena is not None:
            os.close(self._arena)

    def _tell(self, event: Event) -> None:
        if event.kind == "measured":
            self._show.measured(event.step or 0, event.detail or {})
        else:
            trace = (event.detail or {}).get("trace", "")
            self._show.note(Note(event.kind, event.text, event.worker), trace, event.step or 0)

    def _find_memory(self, descriptor: int) -> None:
        """The captain's descriptor can be opened by its owner; once it is, the memory stays whoever is captain."""
        path = Path(f"/proc/{self._ledger.run(self._run).pid}/fd/{descriptor}")
        try:
            layout = self.place.read_layout()
            # The pid may be that of another process by now, or in another container.
            if not is_arena(path, self._run):
                return
            self._arena = os.open(path, os.O_RDWR)
        except OSError:
            return
        gauges = Gauges(Arena(self._arena, layout["size"]), layout)
        self._progress = Progress(gauges, layout["steps"], time.monotonic())
