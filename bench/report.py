"""docs/benchmarks.md: the goals and what became of them first, then what was measured."""

from collections.abc import Iterator, Sequence

from contests import Goal
from measure import Outcome, Spread

_HEAD = """\
# Benchmarks

<!-- Written by bench/run.py; not by hand. -->

All sides of a row were measured in one run, taking turns, with the same model, data, batch and one thread per
process. Ratios are taken within each round; shown is their median, with the smallest and the largest. What
each side does, and why that is fair, is said in [bench/README.md](../bench/README.md).
"""


def render(outcomes: Sequence[Outcome], circumstances: Sequence[str]) -> str:
    """`circumstances` are the lines on when, where and how: a measurement is nothing without them."""
    return "\n".join([_HEAD, *circumstances, "", *_goals(outcomes), *_measured(outcomes)]) + "\n"


def _goals(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "## Goals\n"
    yield "| | goal | measured | spread | |"
    yield "|---|---|---|---|---|"
    for outcome in outcomes:
        yield f"| **{outcome.contest.title}** | | | | |"
        for goal in outcome.contest.goals:
            yield _goal_row(outcome, goal)
    yield ""


def _goal_row(outcome: Outcome, goal: Goal) -> str:
    bound = "–" if goal.bound is None else f"{goal.sense} {goal.bound:g}"
    ratio = outcome.ratio(goal)
    if ratio is None:
        return f"| {goal.text} | {bound} | – | – | not measured: {_why_missing(outcome, goal)} |"
    return f"| {goal.text} | {bound} | {ratio.median:.2f} | {_range(ratio, '.2f')} | {_verdict(goal, ratio)} |"


def _why_missing(outcome: Outcome, goal: Goal) -> str:
    reasons = [outcome.missing[name] for name in (goal.under, goal.over) if name in outcome.missing]
    return reasons[0].replace("|", "/")[:120]


def _verdict(goal: Goal, ratio: Spread) -> str:
    if goal.bound is None:
        return "not judged"
    return "met" if goal.met(ratio.median) else "**missed**"


def _measured(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "## Measured\n"
    yield "| | median | spread | unit |"
    yield "|---|---|---|---|"
    for outcome in outcomes:
        yield f"| **{outcome.contest.title}** | | | |"
        for name, unit in outcome.contest.units.items():
            found = outcome.quantity(name)
            if found is not None:
                precision = ",.0f" if found.median >= 100 else ".3f"
                yield f"| {name} | {found.median:{precision}} | {_range(found, precision)} | {unit} |"


def _range(spread: Spread, precision: str) -> str:
    return f"{spread.low:{precision}} – {spread.high:{precision}}"
