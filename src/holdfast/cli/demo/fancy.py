"""The demo on a terminal: the crew drawn while it works."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from holdfast.cli.demo import report
from holdfast.cli.demo.chart import BLOCKS, Bar, chart
from holdfast.cli.demo.experiment import Comparison, Facts
from holdfast.cli.demo.witness import Moment, Witness
from holdfast.job import Job

NARROWEST = 80
_WIDEST = 110
_LABEL = 11
_FRAME = 6
_TONES = {"starting": "bright_black", "working": "cyan", "dead": "bold red", "speed": "green", "axis": "dim"}
_KINDS = {"kill": "bold red", "died": "red", "started": "yellow", "view": "cyan", "measured": "green"}


class Fancy:
    def __init__(self, console: Console) -> None:
        console.width = min(console.width, _WIDEST)
        self._console = console

    def opening(self, rows: int) -> None:
        self._console.print()
        self._console.print(Text("H O L D F A S T", "bold cyan"), justify="center")
        self._console.print(Text(report.TITLE, "italic"), justify="center")
        self._console.print()
        self._console.print(Text(f"  writing {rows:,} lines of an access log …", "dim"))

    def prepared(self, facts: Facts, job: Job) -> None:
        self._console.print(_pairs([*report.of_data(facts), *report.of_job(job)]))
        self._console.print()

    @contextmanager
    def trial(self, crew: str, victim: int | None) -> Iterator[Witness]:
        witness = Witness(victim)
        width = self._console.width - _LABEL - _FRAME

        def drawn() -> RenderableType:
            return _scene(witness, crew, width)

        with _live(self._console, drawn):
            yield witness

    def ending(self, facts: Facts, comparison: Comparison, seconds: float) -> None:
        self._console.print()
        self._console.print(_table(facts, comparison), justify="center")
        colour = "green" if all(comparison.equal.values()) else "red"
        self._console.print(Panel(Text(report.verdict(comparison), f"bold {colour}", justify="center"), style=colour))
        for remark in report.remarks(comparison):
            self._console.print(Padding(Text(remark, "dim"), (0, 2)))
        self._console.print(f"\n  It took {seconds:.0f} s. Next:", highlight=False)
        for command, purpose in report.next_steps(facts):
            self._console.print(Text.assemble("  ", (command, "bold cyan"), f"\n      {purpose}"), soft_wrap=True)
        self._console.print()


@contextmanager
def _live(console: Console, drawn: Callable[[], RenderableType]) -> Iterator[None]:
    # Drawn from a thread of Rich's own, because nothing is reported while the first crew is being loaded.
    with Live(get_renderable=drawn, console=console, refresh_per_second=5):
        yield


def _scene(witness: Witness, crew: str, columns: int) -> Panel:
    bars = [_bar(bar) for bar in chart(witness, columns, BLOCKS)]
    parts: list[RenderableType] = [*bars]
    if events := report.events_of(witness):
        parts += [Text(), *(_event(moment) for moment in events)]
    title = Text(crew, "bold")
    return Panel(Group(*parts), title=title, subtitle=Text(report.state_of(witness, crew)), padding=(0, 1))


def _bar(bar: Bar) -> Text:
    text = Text(f"{bar.label:<{_LABEL}}", "dim", no_wrap=True)
    for glyph, tone in bar.cells:
        text.append(glyph, _TONES[tone])
    return text


def _event(moment: Moment) -> Text:
    when = Text(f"{moment.seconds:6.2f} s  step {moment.step:>6,}  ", "dim")
    return when.append(moment.text, _KINDS.get(moment.kind, ""))


def _pairs(pairs: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for label, text in pairs:
        table.add_row(f"  {label}", text)
    return table


def _table(facts: Facts, comparison: Comparison) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(no_wrap=True)
    table.add_column("1 worker", justify="right")
    table.add_column("4 workers, 1 killed", justify="right")
    table.add_column()
    marks = {None: Text(), True: Text("✓ the same", "green"), False: Text("✗ DIFFERENT", "bold red")}
    for row in report.comparison_rows(facts, comparison):
        table.add_row(Text(row.label, "dim"), row.first, row.second, marks[row.equal])
    return table
