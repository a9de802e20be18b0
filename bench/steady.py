"""How fast a run was once it ran: the estimator of every side, ours included (`steady_samples_per_s`)."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

WARM_UP_STEPS = 20
_WINDOWS = 10


def median_rate(ends: Sequence[float], batch: int) -> float:
    """Samples/s: the median over ten equal stretches of the run after its warm-up; `ends` in seconds.

    A run too short to lose its warm-up (as in a smoke test) loses a third.
    """
    steady = ends[min(WARM_UP_STEPS, len(ends) // 3) :]
    num_steps = len(steady) - 1
    if num_steps < 1:
        raise ValueError(f"{len(ends)} steps are too few to measure a rate: run at least 3")
    cuts = [num_steps * k // _WINDOWS for k in range(_WINDOWS + 1)]
    stretches = [(a, b) for a, b in pairwise(cuts) if a < b]
    return median(batch * (b - a) / (steady[b] - steady[a]) for a, b in stretches)
