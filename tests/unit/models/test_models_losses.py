"""Losses: equal to torch's own means, whole however the batch is cut, and clear about what does not fit."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from holdfast.errors import DataError, JobError, ModelError
from holdfast.models.losses import LOSSES, loss_for, sum_and_count

HERE = Path(__file__).parent


def mean_loss(name, outputs, targets):
    total, count = sum_and_count(LOSSES[name](outputs, targets), len(outputs))
    return total / count


REFERENCES = {
    "binary_cross_entropy": functional.binary_cross_entropy_with_logits,
    "mse": functional.mse_loss,
    "mae": functional.l1_loss,
    "huber": functional.huber_loss,
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("shape", [(7,), (7, 3)])
def test_elementwise_losses_equal_torch_means(name, shape):
    outputs, targets = torch.randn(shape), torch.rand(shape).round()
    torch.testing.assert_close(mean_loss(name, outputs, targets), REFERENCES[name](outputs, targets))


@pytest.mark.parametrize("name", REFERENCES)
def test_a_single_output_column_is_not_broadcast_against_flat_targets(name):
    outputs, targets = torch.randn(5, 1), torch.ones(5)
    expected = REFERENCES[name](outputs[:, 0], targets)
    torch.testing.assert_close(mean_loss(name, outputs, targets), expected)
    torch.testing.assert_close(mean_loss(name, outputs[:, 0], targets[:, None]), expected)


def test_integer_and_boolean_targets_serve_binary_and_regression_losses():
    outputs = torch.randn(6)
    yes = torch.tensor([0, 1, 1, 0, 1, 0])
    for targets in (yes, yes.bool(), yes.double()):
        torch.testing.assert_close(
            mean_loss("binary_cross_entropy", outputs, targets),
            functional.binary_cross_entropy_with_logits(outputs, yes.float()),
        )
        assert LOSSES["mse"](outputs, targets).dtype == torch.float32


def test_cross_entropy_gives_one_loss_per_sample():
    outputs, targets = torch.randn(6, 4), torch.randint(4, (6,))
    losses = LOSSES["cross_entropy"](outputs, targets)
    assert losses.shape == (6,)
    torch.testing.assert_close(losses.mean(), functional.cross_entropy(outputs, targets))


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.float32])
def test_cross_entropy_takes_class_numbers_of_any_type(dtype):
    outputs, targets = torch.randn(6, 4), torch.randint(4, (6,))
    torch.testing.assert_close(
        mean_loss("cross_entropy", outputs, targets.to(dtype)), functional.cross_entropy(outputs, targets)
    )


def test_cross_entropy_takes_probabilities():
    outputs, targets = torch.randn(6, 4), torch.rand(6, 4).softmax(-1)
    torch.testing.assert_close(mean_loss("cross_entropy", outputs, targets), functional.cross_entropy(outputs, targets))


def test_cross_entropy_finds_the_classes_of_sequences_last_or_second():
    outputs, targets = torch.randn(3, 5, 7), torch.randint(7, (3, 5))
    expected = functional.cross_entropy(outputs.movedim(-1, 1), targets)
    torch.testing.assert_close(mean_loss("cross_entropy", outputs, targets), expected)
    torch.testing.assert_close(mean_loss("cross_entropy", outputs.movedim(-1, 1), targets), expected)


def test_ignored_tokens_are_neither_summed_nor_counted():
    outputs, targets = torch.randn(2, 5, 7), torch.randint(7, (2, 5))
    targets[0, 2:] = -100
    total, count = sum_and_count(LOSSES["cross_entropy"](outputs, targets), 2)
    assert count == 7
    torch.testing.assert_close(total / count, functional.cross_entropy(outputs.flatten(0, 1), targets.flatten()))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 12), st.integers(0, 12), st.sampled_from([(), (3,)]))
def test_sums_and_counts_of_the_parts_make_the_whole(n, cut, tail):
    generator = torch.Generator().manual_seed(n)
    outputs = torch.randn(n, *tail, 4, generator=generator, dtype=torch.float64)
    targets = torch.randint(4, (n, *tail), generator=generator)
    whole, whole_count = sum_and_count(LOSSES["cross_entropy"](outputs, targets), n)
    cut = min(cut, n)
    parts = [
        sum_and_count(LOSSES["cross_entropy"](outputs[part], targets[part]), len(outputs[part]))
        for part in (slice(0, cut), slice(cut, n))
    ]
    torch.testing.assert_close(sum(total for total, _ in parts), whole)
    assert sum(count for _, count in parts) == whole_count


def test_sum_and_count_reads_the_three_forms_alike():
    losses = torch.tensor([1.0, 2.0, 6.0])
    assert sum_and_count(losses, 3) == (torch.tensor(9.0), 3)
    assert sum_and_count(losses.mean(), 3) == (torch.tensor(9.0), 3)
    assert sum_and_count((losses.sum(), torch.tensor(3)), 99) == (torch.tensor(9.0), 3)


def test_half_precision_outputs_are_widened_before_the_loss():
    outputs, targets = torch.randn(4, 3).bfloat16(), torch.randint(3, (4,))
    losses = LOSSES["cross_entropy"](outputs, targets)
    assert losses.dtype == torch.float32
    torch.testing.assert_close(losses.mean(), functional.cross_entropy(outputs.float(), targets))


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("classification", "cross_entropy"),
        ("binary", "binary_cross_entropy"),
        ("regression", "mse"),
        ("language", "cross_entropy"),
    ],
)
def test_auto_follows_the_task(task, name):
    assert loss_for("auto", {"task": task}, HERE) is LOSSES[name]


def test_a_name_wins_over_the_task():
    assert loss_for("mae", {"task": "classification"}, HERE) is LOSSES["mae"]


def test_a_loss_is_imported_and_a_class_is_made_an_instance():
    assert loss_for("torch.nn.functional:mse_loss", {}, HERE) is functional.mse_loss
    assert isinstance(loss_for("torch.nn:L1Loss", {}, HERE), nn.L1Loss)


def test_a_live_loss_is_used_as_it_is():
    def loss(outputs, targets):
        return (outputs - targets).square()

    assert loss_for("<python>:loss", {}, HERE, live=loss) is loss


@pytest.mark.parametrize(
    ("use", "info", "live", "sentence"),
    [
        ("cross_entrpy", {}, None, "unknown loss `cross_entrpy`; did you mean `cross_entropy`?"),
        ("auto", {}, None, 'train.loss is "auto", but the dataset does not say its task'),
        ("auto", {"task": "regresion"}, None, "unknown task `regresion` of the dataset; did you mean"),
        ("math:pi", {}, None, "loss `math:pi` is a float"),
        ("<python>:l", {}, nn.MSELoss(reduction="sum"), "sums over its samples without counting them"),
        ("<python>:l", {}, None, "`<python>:l` was a Python object"),
    ],
)
def test_a_wrong_loss_is_named(use, info, live, sentence):
    with pytest.raises(JobError) as caught:
        loss_for(use, info, HERE, live)
    assert sentence in str(caught.value)


def test_a_loss_with_parameters_is_refused():
    with pytest.raises(ModelError, match="has parameters of its own"):
        loss_for("<python>:l", {}, HERE, live=nn.Linear(2, 1))


def test_targets_outside_the_classes_are_named():
    with pytest.raises(DataError, match="targets go from 0 to 4, but the model scores the classes 0 to 3"):
        LOSSES["cross_entropy"](torch.randn(2, 4), torch.tensor([0, 4]))


def test_fractional_class_targets_are_refused():
    with pytest.raises(DataError, match="whole-number class targets"):
        LOSSES["cross_entropy"](torch.randn(2, 4), torch.tensor([0.0, 1.5]))


def test_a_loss_that_is_no_tensor_is_named():
    with pytest.raises(ModelError, match="the loss gave a float; return a tensor"):
        sum_and_count(0.5, 3)


@pytest.mark.parametrize("name", LOSSES)
def test_a_model_that_gives_one_number_for_all_samples_is_named(name):
    with pytest.raises(ModelError, match=r"outputs of shape \(\) do not fit"):
        LOSSES[name](torch.tensor(1.0), torch.zeros(4))


@pytest.mark.parametrize("name", LOSSES)
def test_shapes_that_do_not_fit_are_named(name):
    with pytest.raises(ModelError, match=r"outputs of shape \(4, 3, 2\) do not fit targets of shape \(4,\)"):
        LOSSES[name](torch.randn(4, 3, 2), torch.zeros(4))
