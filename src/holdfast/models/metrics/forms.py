"""What the metrics share: the type of evidence, and a mean that is the same wherever it is computed."""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Evidence: TypeAlias = NDArray[np.float64]


def mean(values: NDArray[np.float64]) -> float:
    """Correctly rounded, so neither the order of the samples nor the width of a vector unit matters."""
    return math.fsum(values.tolist()) / len(values)
