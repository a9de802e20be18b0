"""Rounds of a contest: in each, every side runs once, one after another, so that drift hits all alike."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from commands import UnavailableError
from contests import Contest, Goal, Quantities


@dataclass(frozen=True)
class Spread:
    """The median of some repeats, and how far they lie apart."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Outcome:
    """What a contest gave: its rounds, and why sides are missing from them."""

    contest: Contest
    rounds: tuple[Quantities, ...]
    missing: Mapping[str, str]

    def quantity(self, name: str) -> Spread | None:
        return _spread([found[name] for found in self.rounds if name in found])

    def ratio(self, goal: Goal) -> Spread | None:
        """Of the ratios within each round: both sides then had the same machine, as far as that can be."""
        both = [found for found in self.rounds if goal.over in found and goal.under in found]
        return _spread([found[goal.over] / found[goal.under] for found in both])


def hold(name: str, contest: Contest, repeats: int, seconds: float) -> Outcome:
    """Runs the contest. A side that cannot be measured is left out from then on, with its reason."""
    steps = contest.steps(seconds)
    missing: dict[str, str] = {}
    rounds = []
    for number in range(1, repeats + 1):
        found: dict[str, float] = {}
        for side in contest.sides:
            if side.name in missing:
                continue
            try:
                found |= side.measure(steps)
                _tell(f"{name} {number}/{repeats} {side.name}: {found[side.name]:,.4g}")
            except (UnavailableError, KeyError, ValueError) as error:
                missing[side.name] = _why(error)
                _tell(f"{name} {number}/{repeats} {side.name}: {missing[side.name]}")
        rounds.append(found)
    return Outcome(contest, tuple(rounds), missing)


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, UnavailableError) else f"no result to read: {error!r}"


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _spread(values: list[float]) -> Spread | None:
    return Spread(median(values), min(values), max(values)) if values else None
