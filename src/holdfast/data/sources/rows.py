"""Rows of numbers as a Dataset: split, standardised, and in the types that models take."""

from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from holdfast.data.hashing import Words
from holdfast.data.source import Dataset
from holdfast.data.sources.parts import cut
from holdfast.data.split import by_hash
from holdfast.data.standardise import standardise
from holdfast.errors import DataError, JobError
from holdfast.job.near import hint

Matrix = NDArray[np.float64]
Task = Literal["classification", "binary", "regression"]


def split_rows(features: Matrix, target: Matrix, task: Task, uids: Words, test: float) -> Dataset:
    """Standardised features [n, k]; class numbers, 0/1 floats or, for a regression, standardised targets [n].

    The means and deviations of features and of regression targets are in `info`, so that a prediction can be made
    from features, and given back, in their own units.
    """
    _check(target, task)
    sides = by_hash(uids, test)
    info: dict[str, Any] = {"task": task, "n_features": features.shape[1]}
    features, means, deviations = standardise(features, sides[0])
    info |= {"feature_mean": means.tolist(), "feature_deviation": deviations.tolist()}
    if task == "regression":
        target, mean, deviation = standardise(target, sides[0])
        info |= {"target_mean": float(mean), "target_deviation": float(deviation)}
    if task == "classification":
        info["n_classes"] = int(target.max()) + 1
    inputs = torch.from_numpy(features.astype(np.float32))
    targets = torch.from_numpy(target.astype(np.int64 if task == "classification" else np.float32))
    return cut(inputs, targets, sides, info)


def _check(target: Matrix, task: str) -> None:
    if task not in get_args(Task):
        raise JobError(f"unknown task `{task}`{hint(task, get_args(Task))}")
    if task == "binary" and not np.isin(target, (0, 1)).all():
        extent = f"{target.min()} to {target.max()}"
        raise DataError(f"a binary target is 0 or 1, and this one goes from {extent}: use another task")
    if task == "classification" and not ((target >= 0) & (target == np.floor(target))).all():
        raise DataError("a class must be one of the numbers 0, 1, 2, …; for a quantity, use task = 'regression'")
