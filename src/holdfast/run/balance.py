"""Who computes how many replicas, when not all are equally fast."""

import heapq
from collections.abc import Sequence

_WORTH_WHILE = 1.2
"""A step must get faster by this factor; a change of the crew costs something, and speeds are never quite equal."""


def cuts_for(speeds: Sequence[float], replicas: int, now: Sequence[int]) -> tuple[int, ...] | None:
    """Better cuts than those that deal out so many replicas to each member now; None if it is not worth while.

    `speeds` are replicas per second, in the order of members. Everybody keeps one, so that speeds stay known.
    """
    if len(speeds) < 2 or min(speeds) <= 0.0:
        return None
    best = _dealt_out(speeds, replicas)
    if _step_s(speeds, now) < _WORTH_WHILE * _step_s(speeds, best):
        return None
    cuts, before = [], 0
    for count in best[:-1]:
        before += count
        cuts.append(before)
    return tuple(cuts)


def _dealt_out(speeds: Sequence[float], replicas: int) -> list[int]:
    """One replica after the other to whoever would be done with it first."""
    counts = [1] * len(speeds)
    ends = [(2 / speed, rank) for rank, speed in enumerate(speeds)]
    heapq.heapify(ends)
    for _ in range(replicas - len(speeds)):
        rank = ends[0][1]
        counts[rank] += 1
        heapq.heapreplace(ends, ((counts[rank] + 1) / speeds[rank], rank))
    return counts


def _step_s(speeds: Sequence[float], counts: Sequence[int]) -> float:
    return max(count / speed for count, speed in zip(counts, speeds, strict=True))
