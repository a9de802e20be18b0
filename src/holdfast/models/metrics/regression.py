"""Metrics of a regression. Evidence: the predictions, then the targets; several outputs are averaged."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from holdfast.models.metrics.forms import Evidence, mean

Numbers = NDArray[np.float64]


def r2(evidence: Evidence) -> float:
    """The share of the targets' variance explained; constant targets give 1 if met exactly, else 0."""
    return _over_outputs(_r2, evidence)


def rmse(evidence: Evidence) -> float:
    return _over_outputs(lambda predicted, target: math.sqrt(mean((predicted - target) ** 2)), evidence)


def mae(evidence: Evidence) -> float:
    return _over_outputs(lambda predicted, target: mean(np.abs(predicted - target)), evidence)


def _over_outputs(metric: Callable[[Numbers, Numbers], float], evidence: Evidence) -> float:
    predictions, targets = np.hsplit(evidence, 2)
    return mean(np.array([metric(p, t) for p, t in zip(predictions.T, targets.T, strict=True)]))


def _r2(predicted: Numbers, target: Numbers) -> float:
    unexplained = mean((predicted - target) ** 2)
    variance = mean((target - mean(target)) ** 2)
    if not variance:
        return 0.0 if unexplained else 1.0
    return 1 - unexplained / variance
