"""Metrics: equal to scikit-learn's, the same in any cut and order, and clear about what cannot be judged."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference
from torch.nn import functional

from holdfast.errors import DataError, JobError, ModelError, RunError
from holdfast.models.metrics import METRICS, compute, evidence, evidence_width, metrics_for

LABELLED = ["accuracy", "log_loss", "auc", "f1", "precision", "recall", "confusion"]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(3, 60), st.integers(3, 5))
def test_classification_equals_sklearn(seed, n, num_classes):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(n, num_classes, generator=generator, dtype=torch.float64)
    labels = torch.randint(num_classes, (n,), generator=generator)
    assume(len(labels.unique()) == num_classes)
    got = compute(LABELLED, "classification", evidence("classification", scores, labels).numpy())
    y, p, guess = labels.numpy(), scores.softmax(1).numpy(), scores.numpy().argmax(1)
    assert got["accuracy"] == reference.accuracy_score(y, guess)
    assert got["log_loss"] == pytest.approx(reference.log_loss(y, p))
    assert got["f1"] == pytest.approx(reference.f1_score(y, guess, average="macro", zero_division=0))
    assert got["precision"] == pytest.approx(reference.precision_score(y, guess, average="macro", zero_division=0))
    assert got["recall"] == pytest.approx(reference.recall_score(y, guess, average="macro", zero_division=0))
    assert got["confusion"] == reference.confusion_matrix(y, guess).tolist()
    assert got["auc"] == pytest.approx(reference.roc_auc_score(y, p, multi_class="ovr"), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60))
def test_binary_equals_sklearn_with_many_ties(seed, n):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, generator=generator).mul(2).round()
    labels = torch.randint(2, (n,), generator=generator)
    assume(len(labels.unique()) == 2)
    got = compute(LABELLED, "binary", evidence("binary", logits, labels).numpy())
    y, p, guess = labels.numpy(), logits.double().sigmoid().numpy(), (logits > 0).numpy()
    assert got["auc"] == pytest.approx(reference.roc_auc_score(y, logits.numpy()), abs=1e-12)
    assert got["accuracy"] == reference.accuracy_score(y, guess)
    assert got["log_loss"] == pytest.approx(reference.log_loss(y, p))
    assert got["f1"] == pytest.approx(reference.f1_score(y, guess, zero_division=0))
    assert got["precision"] == pytest.approx(reference.precision_score(y, guess, zero_division=0))
    assert got["recall"] == pytest.approx(reference.recall_score(y, guess, zero_division=0))
    assert got["confusion"] == reference.confusion_matrix(y, guess).tolist()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.sampled_from([(), (1,), (3,)]))
def test_regression_equals_sklearn(seed, n, tail):
    generator = torch.Generator().manual_seed(seed)
    predictions = torch.randn(n, *tail, generator=generator)
    targets = torch.randn(n, *tail, generator=generator)
    got = compute([], "regression", evidence("regression", predictions, targets).numpy())
    y, p = targets.double().numpy(), predictions.double().numpy()
    assert got["r2"] == pytest.approx(reference.r2_score(y, p))
    assert got["rmse"] == pytest.approx(reference.root_mean_squared_error(y, p))
    assert got["mae"] == pytest.approx(reference.mean_absolute_error(y, p))


def test_constant_targets_have_an_r2_as_in_sklearn():
    for predicted in (2.0, 3.0):
        rows = np.array([[predicted, 2.0]] * 3)
        assert compute(["r2"], "regression", rows)["r2"] == reference.r2_score(rows[:, 1], rows[:, 0])


def test_language_metrics_are_per_token_and_leave_ignored_ones_out():
    scores, targets = torch.randn(4, 6, 9), torch.randint(9, (4, 6))
    targets[1, 3:] = -100
    got = compute([], "language", evidence("language", scores, targets).numpy())
    kept = targets != -100
    nll = functional.cross_entropy(scores[kept], targets[kept]).item()
    assert got["log_loss"] == pytest.approx(nll, rel=1e-6)
    assert got["perplexity"] == pytest.approx(math.exp(nll), rel=1e-5)
    assert got["accuracy"] == (scores[kept].argmax(-1) == targets[kept]).double().mean().item()


def test_perplexity_beyond_a_float_is_infinite():
    assert compute(["perplexity"], "language", np.array([[1e6, 1.0, 0.0]]))["perplexity"] == math.inf


CASES = {
    "classification": (torch.Size([5]), torch.Size([])),
    "binary": (torch.Size([]), torch.Size([])),
    "regression": (torch.Size([]), torch.Size([])),
    "language": (torch.Size([3, 5]), torch.Size([3])),
}


@pytest.mark.parametrize("task", CASES)
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_evidence_does_not_depend_on_the_batches(task, seed, size):
    outputs, targets = _batch(task, 20, seed)
    whole = evidence(task, outputs, targets)
    cut = [evidence(task, o, t) for o, t in zip(outputs.split(size), targets.split(size), strict=True)]
    assert torch.equal(torch.cat(cut), whole)
    assert whole.shape == (20, evidence_width(task, {"n_classes": 5}))


@pytest.mark.parametrize("task", CASES)
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_metrics_do_not_depend_on_the_order(task, seed):
    outputs, targets = _batch(task, 30, seed)
    rows = evidence(task, outputs, targets).numpy()
    shuffled = np.random.default_rng(seed).permutation(rows)
    exact = [name for name in METRICS[task] if name != "auc" or task == "binary"]
    np.testing.assert_equal(compute(exact, task, shuffled), compute(exact, task, rows))


def _batch(task, n, seed):
    generator = torch.Generator().manual_seed(seed)
    of_outputs, of_targets = CASES[task]
    high = 2 if task == "binary" else 5
    targets = torch.randint(high, (n, *of_targets), generator=generator)
    return torch.randn(n, *of_outputs, generator=generator), targets


@pytest.mark.parametrize("task", CASES)
def test_no_sample_has_no_evidence_of_the_same_width(task):
    outputs, targets = _batch(task, 1, 0)
    width = evidence_width(task, {"n_classes": 5})
    assert evidence(task, outputs[:0], targets[:0]).shape == (0, width)


def test_evidence_carries_no_gradient():
    assert not evidence("binary", torch.randn(3, requires_grad=True), torch.ones(3)).requires_grad


def test_binary_takes_columns_two_scores_and_booleans():
    logits, labels = torch.randn(6), torch.tensor([0, 1, 0, 1, 1, 0])
    plain = evidence("binary", logits, labels)
    two = torch.stack([torch.zeros(6), logits], dim=1)
    assert torch.equal(evidence("binary", logits[:, None], labels.bool()), plain)
    assert torch.equal(evidence("binary", logits, labels[:, None].float()), plain)
    assert torch.equal(evidence("binary", two, labels), plain)


def test_two_classes_and_a_logit_agree_where_they_mean_the_same():
    logits, labels = torch.randn(50), torch.randint(2, (50,))
    two = evidence("classification", torch.stack([torch.zeros(50), logits], dim=1), labels).numpy()
    one = evidence("binary", logits, labels).numpy()
    for name in ("accuracy", "log_loss", "auc", "confusion"):
        assert compute([name], "classification", two) == compute([name], "binary", one)


def test_saturated_logits_still_rank_exactly():
    rows = np.array([[800.0, 0.0], [801.0, 1.0], [-900.0, 0.0], [-899.0, 1.0]])
    got = compute(["auc", "log_loss"], "binary", rows)
    assert got["auc"] == 0.75
    assert got["log_loss"] == (800 + 899) / 4


def test_the_auc_of_a_single_class_is_not_a_number():
    assert math.isnan(compute(["auc"], "binary", np.array([[0.5, 1.0], [0.1, 1.0]]))["auc"])


def test_defaults_are_those_of_the_task():
    assert metrics_for([], "binary") == ("auc", "accuracy", "log_loss")
    assert metrics_for([], None) == ()
    assert metrics_for(["f1"], "binary") == ("f1",)


@pytest.mark.parametrize(
    ("names", "task", "sentence"),
    [
        (["acuracy"], "binary", "unknown metric `acuracy` of a binary task; did you mean `accuracy`?"),
        (["auc"], "regression", "unknown metric `auc` of a regression task; known: mae, r2, rmse"),
        ([], "clasification", "unknown task `clasification` of the dataset; did you mean `classification`?"),
        (["auc"], None, "evaluate.metrics names `auc`, but the dataset does not say its task"),
    ],
)
def test_a_wrong_metric_is_named(names, task, sentence):
    with pytest.raises(JobError) as caught:
        metrics_for(names, task)
    assert sentence in str(caught.value)


def test_the_width_of_a_classification_needs_its_classes():
    assert evidence_width("classification", {"n_classes": 3, "n_outputs": 4}) == 5
    with pytest.raises(JobError, match="need `n_classes`"):
        evidence_width("classification", {})


def test_no_sample_cannot_be_judged():
    with pytest.raises(DataError, match="no sample to evaluate"):
        compute([], "binary", np.empty((0, 2)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_outputs_that_are_not_finite_are_named(bad):
    with pytest.raises(RunError, match=r"1 of 3 evaluated samples .* the first at position 1"):
        compute([], "binary", np.array([[1.0, 1.0], [bad, 0.0], [2.0, 0.0]]))


def test_a_label_that_is_no_class_is_named():
    with pytest.raises(DataError, match="sample 1 of the test part has the label 2, but the classes are 0 to 1"):
        compute([], "binary", np.array([[1.0, 1.0], [0.0, 2.0]]))


@pytest.mark.parametrize(
    ("outputs", "targets", "sentence"),
    [
        ((torch.ones(3), torch.ones(3)), torch.ones(3), "the model gives tuple for targets of Tensor"),
        (torch.ones(3, 4, 5), torch.ones(3, 4), "need one label per sample, not targets of shape"),
    ],
)
def test_outputs_that_are_no_evidence_are_named(outputs, targets, sentence):
    with pytest.raises(ModelError) as caught:
        evidence("classification", outputs, targets)
    assert sentence in str(caught.value)
