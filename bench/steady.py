"""How fast a run was once it ran: the estimator of every side, ours included (`steady_samples_per_s`)."""

from collections.abc import Sequence

MIN_STEPS = 100
"""So that a tenth is ten steps, which is enough to warm up."""


def steady_rate(ends: Sequence[float], batch: int) -> float:
    """Samples/s without the first tenth of the steps; `ends` are the times, in seconds, at which steps ended."""
    steady = ends[max(1, len(ends) // 10) :]
    if len(steady) < 2:
        raise ValueError(f"{len(ends)} steps are too few to measure a rate: run at least 3")
    return batch * (len(steady) - 1) / (steady[-1] - steady[0])
