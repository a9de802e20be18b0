"""Metrics of a language model, per token. Evidence: summed negative log likelihood, tokens, right tokens."""

import math

from holdfast.models.metrics.forms import Evidence


def log_loss(evidence: Evidence) -> float:
    return math.fsum(evidence[:, 0].tolist()) / _num_tokens(evidence)


def perplexity(evidence: Evidence) -> float:
    nll = log_loss(evidence)
    return math.exp(nll) if nll < _LARGEST_EXPONENT else math.inf


def accuracy(evidence: Evidence) -> float:
    return float(evidence[:, 2].sum()) / _num_tokens(evidence)


_LARGEST_EXPONENT = 709.0


def _num_tokens(evidence: Evidence) -> float:
    return float(evidence[:, 1].sum())
