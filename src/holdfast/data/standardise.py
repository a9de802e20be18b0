"""Features on one scale, by statistics of the training samples only: test samples must not leak into them."""

import numpy as np
from numpy.typing import NDArray

from holdfast.data.order import Indices

Matrix = NDArray[np.float64]


def standardise(values: Matrix, train: Indices) -> tuple[Matrix, Matrix, Matrix]:
    """Values of mean 0 and deviation 1 over the rows `train`, and these means and deviations.

    A constant column becomes 0, with a deviation of 1.
    """
    mean = values[train].mean(axis=0)
    deviation = values[train].std(axis=0)
    deviation = np.where(deviation == 0, 1.0, deviation)
    return (values - mean) / deviation, mean, deviation
