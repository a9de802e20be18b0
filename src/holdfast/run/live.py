"""The live view of a run on a terminal. Rich is loaded only once there is something to draw: workers start first."""

import sys
import time
from typing import TYPE_CHECKING, Any

from holdfast.job import Job
from holdfast.run.events import Note
from holdfast.run.progress import Snapshot
from holdfast.run.show import UNTOLD, clock, heading, numbers, own_lines

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live as Screen

_EVERY_S = 0.25
_STYLES = {"died": "red", "hung": "red", "view": "cyan", "started": "dim", "resumed": "green", "passed_over": "yellow"}


class Live:
    """Draws at most a few times a second, so that it takes nothing worth mentioning from the workers."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._drawn = 0.0
        self._view = ""
        self._run = ""
        self._traced = False
        self._latest: Snapshot | None = None
        self._screen: Screen | None = None

    def begin(self, run: str, job: Job) -> None:
        self._run = run
        print(heading(run, job), file=sys.stderr, flush=True)

    def note(self, note: Note, trace: str, step: int) -> None:
        if note.kind == "view":
            self._view = note.text
        if note.kind not in UNTOLD:
            self._say(note.text, _STYLES.get(note.kind, "yellow"))
        elif (own := own_lines(trace)) and not self._traced:
            self._traced = True
            self._say(f"{note.text}:\n{own}", "red")

    def progress(self, snapshot: Snapshot) -> None:
        self._latest = snapshot
        now = time.monotonic()
        if now - self._drawn >= _EVERY_S:
            self._drawn = now
            self._draw(snapshot)

    def measured(self, step: int, metrics: dict[str, Any]) -> None:
        self._say(f"step {step}: {numbers(metrics)}", "bold")

    def end(self) -> None:
        if self._latest is not None:
            self._draw(self._latest)
        if self._screen is not None:
            self._screen.stop()

    def _say(self, text: str, style: str) -> None:
        from rich.text import Text

        line = Text(f"{clock(time.monotonic() - self._began):>7}  ", style="dim").append(text, style=style)
        if self._screen is not None:
            self._screen.console.print(line)
        else:
            _console().print(line)

    def _draw(self, snapshot: Snapshot) -> None:
        if self._screen is None:
            from rich.live import Live as Screen

            self._screen = Screen(console=_console(), auto_refresh=False)
            self._screen.start()
        self._screen.update(picture(snapshot, self._run, self._view), refresh=True)


def picture(snapshot: Snapshot, run: str, view: str) -> "RenderableType":
    """How the moment looks."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    top = Table.grid(padding=(0, 2))
    share = 100 * snapshot.step / max(1, snapshot.steps)
    bar = ProgressBar(total=max(1, snapshot.steps), completed=snapshot.step, width=40)
    top.add_row(Text(run, "bold"), bar, f"{snapshot.step:,} / {snapshot.steps:,}", f"{share:.0f} %")
    facts = Text("  ".join(_facts(snapshot)), "green").append(f"  {view}", "cyan")
    return Group(top, facts, *_speeds(snapshot.replicas_per_s))


def _facts(snapshot: Snapshot) -> list[str]:
    return [
        "loss –" if snapshot.loss is None else f"loss {snapshot.loss:.4f}",
        "– samples/s" if snapshot.samples_per_s is None else f"{snapshot.samples_per_s:,.0f} samples/s",
        f"{clock(snapshot.seconds)} gone",
        "" if snapshot.eta_s is None else f"{clock(snapshot.eta_s)} left",
    ]


def _speeds(replicas_per_s: dict[int, float]) -> "list[RenderableType]":
    """A bar for each worker, as long as it is fast."""
    from rich.text import Text

    fastest = max(replicas_per_s.values(), default=0.0) or 1.0
    return [
        Text(f"  worker {worker:<3}", "dim")
        .append("▪" * round(20 * speed / fastest), "blue")
        .append(f" {speed:,.0f} replicas/s")
        for worker, speed in replicas_per_s.items()
    ]


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True)
