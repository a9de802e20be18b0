"""Metrics of a classification. Evidence: the score of each class, then the label."""

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import DataError
from holdfast.models.metrics.forms import Evidence, mean

Numbers = NDArray[np.float64]
Labels = NDArray[np.int64]


def accuracy(evidence: Evidence) -> float:
    return int((_predicted(evidence) == labels(evidence)).sum()) / len(evidence)


def log_loss(evidence: Evidence) -> float:
    log_probabilities = _log_probabilities(evidence)
    return -mean(np.take_along_axis(log_probabilities, labels(evidence)[:, None], axis=1)[:, 0])


def auc(evidence: Evidence) -> float:
    """For two classes that of the second; for more the mean over the classes, each against the rest."""
    actual = labels(evidence)
    if evidence.shape[1] == 3:
        return ranking(evidence[:, 1] - evidence[:, 0], actual == 1)
    log_probabilities = _log_probabilities(evidence)
    return mean(np.array([ranking(column, actual == c) for c, column in enumerate(log_probabilities.T)]))


def f1(evidence: Evidence) -> float:
    return _macro(f1_by_class(evidence), evidence)


def precision(evidence: Evidence) -> float:
    return _macro(precision_by_class(evidence), evidence)


def recall(evidence: Evidence) -> float:
    return _macro(recall_by_class(evidence), evidence)


def confusion(evidence: Evidence) -> list[list[int]]:
    """Row: the label; column: the class predicted."""
    rows: list[list[int]] = _confusion(evidence).tolist()
    return rows


def f1_by_class(evidence: Evidence) -> Numbers:
    counts = _confusion(evidence)
    return _ratio(2 * counts.diagonal(), counts.sum(0) + counts.sum(1))


def precision_by_class(evidence: Evidence) -> Numbers:
    counts = _confusion(evidence)
    return _ratio(counts.diagonal(), counts.sum(0))


def recall_by_class(evidence: Evidence) -> Numbers:
    counts = _confusion(evidence)
    return _ratio(counts.diagonal(), counts.sum(1))


def labels(evidence: Evidence) -> Labels:
    """The last column, which must number the classes from 0."""
    column, num_classes = evidence[:, -1], evidence.shape[1] - 1
    bad = np.flatnonzero((column != np.floor(column)) | (column < 0) | (column >= num_classes))
    if len(bad):
        raise DataError(
            f"sample {bad[0]} of the test part has the label {column[bad[0]]:g}, but the classes are "
            f"0 to {num_classes - 1}; number the classes from 0"
        )
    return column.astype(np.int64)


def ranking(scores: Numbers, positive: NDArray[np.bool_]) -> float:
    """The chance that a positive sample scores above a negative one, ties counting half, exactly."""
    num_positive, num_negative = int(positive.sum()), int((~positive).sum())
    if not num_positive or not num_negative:
        return float("nan")
    _, group, size = np.unique(scores, return_inverse=True, return_counts=True)
    twice_mean_rank = 2 * np.cumsum(size) - size + 1
    twice_rank_sum = int(twice_mean_rank[group[positive]].sum())
    return (twice_rank_sum - num_positive * (num_positive + 1)) / (2 * num_positive * num_negative)


def _predicted(evidence: Evidence) -> Labels:
    predicted: Labels = evidence[:, :-1].argmax(axis=1)
    return predicted


def _log_probabilities(evidence: Evidence) -> Numbers:
    shifted = evidence[:, :-1] - evidence[:, :-1].max(axis=1, keepdims=True)
    log_probabilities: Numbers = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return log_probabilities


def _confusion(evidence: Evidence) -> Labels:
    num_classes = evidence.shape[1] - 1
    cells = labels(evidence) * num_classes + _predicted(evidence)
    return np.bincount(cells, minlength=num_classes**2).reshape(num_classes, num_classes)


def _ratio(part: Labels, whole: Labels) -> Numbers:
    """0 where the whole is 0: a class that is never predicted has no precision to speak of."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def _macro(by_class: Numbers, evidence: Evidence) -> float:
    """The mean over the classes that occur among labels or predictions."""
    counts = _confusion(evidence)
    return mean(by_class[(counts.sum(0) + counts.sum(1)) > 0])
