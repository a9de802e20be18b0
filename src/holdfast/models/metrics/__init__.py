"""Metrics, exact over the whole evaluation set.

Workers turn outputs into *evidence*, a few numbers per sample, which is put together in the order of the
samples; the metrics are computed from the whole of it, once. So the number of workers cannot matter.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from holdfast.errors import DataError, JobError, RunError
from holdfast.job.near import hint
from holdfast.models.metrics import binary, classes, language, regression
from holdfast.models.metrics.collect import evidence, evidence_width
from holdfast.models.metrics.forms import Evidence

__all__ = ["METRICS", "Value", "compute", "evidence", "evidence_width", "metrics_for"]

Value = float | list[list[int]]

METRICS: Mapping[str, Mapping[str, Callable[[Evidence], Value]]] = {
    "classification": {
        "accuracy": classes.accuracy,
        "log_loss": classes.log_loss,
        "auc": classes.auc,
        "f1": classes.f1,
        "precision": classes.precision,
        "recall": classes.recall,
        "confusion": classes.confusion,
    },
    "binary": {
        "auc": binary.auc,
        "accuracy": binary.accuracy,
        "log_loss": binary.log_loss,
        "f1": binary.f1,
        "precision": binary.precision,
        "recall": binary.recall,
        "confusion": binary.confusion,
    },
    "regression": {"r2": regression.r2, "rmse": regression.rmse, "mae": regression.mae},
    "language": {
        "perplexity": language.perplexity,
        "log_loss": language.log_loss,
        "accuracy": language.accuracy,
    },
}

_DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "classification": ("accuracy", "log_loss"),
    "binary": ("auc", "accuracy", "log_loss"),
    "regression": ("r2", "rmse", "mae"),
    "language": ("perplexity", "log_loss", "accuracy"),
}


def metrics_for(names: Sequence[str], task: str | None) -> tuple[str, ...]:
    """The metrics to compute: those named, each known to the task; without names those the task is judged by.

    A dataset that does not say its task has none. Called before training, so a misspelt name costs nothing.
    """
    if task is None and names:
        raise JobError(f"evaluate.metrics names `{names[0]}`, but the dataset does not say its task; state it there")
    if task is None:
        return ()
    if task not in METRICS:
        raise JobError(f"unknown task `{task}` of the dataset{hint(task, METRICS)}")
    for name in names:
        if name not in METRICS[task]:
            raise JobError(f"unknown metric `{name}` of a {task} task{hint(name, METRICS[task])}")
    return tuple(names) or _DEFAULTS[task]


def compute(names: Sequence[str], task: str, evidence: Evidence) -> dict[str, Value]:
    """Metrics by name, from the evidence `[n, evidence_width]` of every sample, in sample order.

    A metric that the data leave undefined, such as the AUC of a single class, is NaN.
    """
    wanted = metrics_for(names, task)
    if not len(evidence):
        raise DataError("there is no sample to evaluate; give the dataset a test part")
    _refuse_not_finite(evidence)
    return {name: METRICS[task][name](evidence) for name in wanted}


def _refuse_not_finite(evidence: Evidence) -> None:
    # A score of minus infinity is a model's legitimate "never"; the arithmetic below bears it.
    bad = np.flatnonzero((np.isnan(evidence) | np.isposinf(evidence)).any(axis=1))
    if len(bad):
        raise RunError(
            f"{len(bad)} of {len(evidence)} evaluated samples have outputs or targets that are not finite, "
            f"the first at position {bad[0]}; lower optimizer.lr or set train.clip_norm"
        )
