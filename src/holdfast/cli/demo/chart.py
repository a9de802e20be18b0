"""A trial drawn along time: a bar for each worker's life, and how fast the steps went. Text and tones only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast.cli.demo.witness import Life, Witness

Tone = Literal["starting", "working", "dead", "speed", "axis"]
Cell = tuple[str, Tone]

_TICK_COLUMNS = 9


@dataclass(frozen=True)
class Glyphs:
    starting: str
    working: str
    dead: str
    levels: str
    """From standing still to the fastest."""


BLOCKS = Glyphs("░", "█", "✖", " ▁▂▃▄▅▆▇█")
ASCII = Glyphs(".", "#", "X", " .:-=+*%@")


@dataclass(frozen=True)
class Bar:
    label: str
    cells: Sequence[Cell]

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.cells)


def chart(witness: Witness, columns: int, glyphs: Glyphs) -> list[Bar]:
    """What has happened until now, or from beginning to end, over so many columns."""
    span = max(witness.seconds, 0.1)
    bars = [Bar(f"worker {life.worker}", _life(life, span, columns, glyphs)) for life in list(witness.lives)]
    levels = _levels(witness, span, columns, len(glyphs.levels) - 1)
    speed: list[Cell] = [(glyphs.levels[level], "speed") for level in levels]
    return [*bars, Bar("steps/s", speed), Bar("", [(_axis(span, columns), "axis")])]


def _life(life: Life, span: float, columns: int, glyphs: Glyphs) -> list[Cell]:
    """The cell in which a worker dies shows that, however short it worked in it."""
    last = columns if life.died is None else min(columns - 1, int(life.died / span * columns))
    cells: list[Cell] = []
    for column in range(columns):
        middle = (column + 0.5) / columns * span
        if column == last:
            cells.append((glyphs.dead, "dead"))
        elif middle < life.started or column > last:
            cells.append((" ", "axis"))
        elif life.joined is None or middle < life.joined:
            cells.append((glyphs.starting, "starting"))
        else:
            cells.append((glyphs.working, "working"))
    return cells


def _levels(witness: Witness, span: float, columns: int, highest: int) -> list[int]:
    """How many steps were done in the time of each column, from 0 to `highest`; only no step at all is 0."""
    pulses = list(witness.pulses)
    if not pulses:
        return [0] * columns
    edges = np.linspace(0.0, span, columns + 1)
    steps = np.interp(edges, [pulse.seconds for pulse in pulses], [pulse.step for pulse in pulses])
    done = np.diff(steps)
    top = max(float(done.max()), 1e-9)
    return [int(level) for level in np.ceil(done / top * highest)]


def _axis(span: float, columns: int) -> str:
    tick = next((tick for tick in (1, 2, 5, 10, 20, 30, 60) if tick * columns / span >= _TICK_COLUMNS), 120)
    line = [" "] * columns
    for number in range(int(span // tick) + 1):
        mark = f"{number * tick} s"
        start = round(number * tick / span * columns)
        if start + len(mark) <= columns:
            line[start : start + len(mark)] = mark
    return "".join(line)
