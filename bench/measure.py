"""Rounds of a contest: in each, every side runs once, one after another, so that drift hits all alike."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from commands import UnavailableError
from contests import Contest, Goal, Side


@dataclass(frozen=True)
class Spread:
    """The median of some repeats, and how far they lie apart."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Outcome:
    """What a contest gave: the quantities of each round, and why some are missing."""

    contest: Contest
    rounds: tuple[Mapping[str, float], ...]
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
            if side.quantities[0] in missing:
                continue
            print(f"{name} {number}/{repeats} {side.quantities[0]}", end=": ", file=sys.stderr, flush=True)
            try:
                values = _measured(side, steps)
            except UnavailableError as error:
                missing |= dict.fromkeys(side.quantities, str(error))
                print(error, file=sys.stderr)
            else:
                found |= values
                print(", ".join(f"{value:,.6g}" for value in values.values()), file=sys.stderr)
        rounds.append(found)
    return Outcome(contest, tuple(rounds), missing)


def _measured(side: Side, steps: int) -> dict[str, float]:
    try:
        return dict(zip(side.quantities, side.measure(steps), strict=True))
    except (KeyError, TypeError, ValueError) as error:
        raise UnavailableError(f"it ran, but its result could not be read: {error!r}") from error


def _spread(values: list[float]) -> Spread | None:
    return Spread(median(values), min(values), max(values)) if values else None
