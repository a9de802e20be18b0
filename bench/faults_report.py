"""docs/benchmarks-faults.md: what blows cost each side in numbers, and what was seen where a number says too little."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

_HEAD = """\
# What deaths cost

<!-- Written by bench/faults.py; not by hand. -->

All sides train the same MLP with the same batch in two processes of one thread, and are struck at random moments, one
side after another in one run of the command. A *stall* is the longest time between two committed steps around the
blow, less the usual one. *Did not go on* are blows after which no step came for {patience_s:.0f} s (hung), or after
which those that were not struck died, too; they have no part in median and worst. How each side is set up is said in
[bench/README.md](../bench/README.md).
"""


@dataclass(frozen=True)
class Goal:
    """Bounds on the median and on the worst."""

    median: float
    worst: float | None = None

    def text(self, unit: str) -> str:
        worst = "" if self.worst is None else f", worst ≤ {self.worst:g} {unit}"
        return f"≤ {self.median:.3g} {unit}{worst}"

    def met(self, values: Sequence[float]) -> bool:
        return median(values) <= self.median and (self.worst is None or max(values) <= self.worst)


@dataclass(frozen=True)
class Measured:
    """One line of numbers, under the heading of its kind of blow; `ends` is how often the job did not go on."""

    heading: str
    side: str
    values: Sequence[float]
    blows: int
    unit: str = "s"
    ends: str = ""
    goal: Goal | None = None


@dataclass(frozen=True)
class Seen:
    """One line of words."""

    heading: str
    side: str
    text: str


def render(measured: Sequence[Measured], seen: Sequence[Seen], circumstances: Sequence[str], patience_s: float) -> str:
    lines = [_HEAD.format(patience_s=patience_s), *circumstances, ""]
    return "\n".join([*lines, *_numbers(measured), *_words(seen)]) + "\n"


def _numbers(measured: Sequence[Measured]) -> Iterator[str]:
    yield "| | median | worst | of | did not go on | goal | |\n|---|---|---|---|---|---|---|"
    for heading in dict.fromkeys(line.heading for line in measured):
        yield f"| **{heading}** | | | | | | |"
        yield from (_number(line) for line in measured if line.heading == heading)
    yield ""


def _number(line: Measured) -> str:
    found = [_shown(median(line.values), line), _shown(max(line.values), line)] if line.values else ["–", "–"]
    goal = line.goal.text(line.unit) if line.goal else ""
    verdict = ("met" if line.values and line.goal.met(line.values) else "**missed**") if line.goal else ""
    return f"| {' | '.join([line.side, *found, str(line.blows), line.ends, goal, verdict])} |"


def _shown(value: float, line: Measured) -> str:
    return f"{value:.3f} s" if line.unit == "s" else f"{value:g}"


def _words(seen: Sequence[Seen]) -> Iterator[str]:
    yield "| | what was seen |\n|---|---|"
    for heading in dict.fromkeys(line.heading for line in seen):
        yield f"| **{heading}** | |"
        yield from (f"| {line.side} | {line.text} |" for line in seen if line.heading == heading)
