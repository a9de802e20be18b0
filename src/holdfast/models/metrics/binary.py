"""Metrics of a yes/no question. Evidence: the logit of yes, then the label, 0 or 1.

A logit z says the same as the scores (0, z) of two classes, so the arithmetic is that of `classes`;
f1, precision and recall speak of the positive class.
"""

import numpy as np

from holdfast.models.metrics import classes
from holdfast.models.metrics.forms import Evidence


def auc(evidence: Evidence) -> float:
    return classes.auc(_two_classes(evidence))


def accuracy(evidence: Evidence) -> float:
    return classes.accuracy(_two_classes(evidence))


def log_loss(evidence: Evidence) -> float:
    return classes.log_loss(_two_classes(evidence))


def f1(evidence: Evidence) -> float:
    return float(classes.f1_by_class(_two_classes(evidence))[1])


def precision(evidence: Evidence) -> float:
    return float(classes.precision_by_class(_two_classes(evidence))[1])


def recall(evidence: Evidence) -> float:
    return float(classes.recall_by_class(_two_classes(evidence))[1])


def confusion(evidence: Evidence) -> list[list[int]]:
    return classes.confusion(_two_classes(evidence))


def _two_classes(evidence: Evidence) -> Evidence:
    return np.column_stack([np.zeros(len(evidence)), evidence])
