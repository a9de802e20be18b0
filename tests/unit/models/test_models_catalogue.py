"""Every model of the catalogue: built from what the dataset tells, shaped for its loss, and able to learn."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from holdfast.errors import ModelError
from holdfast.job.imports import resolve
from holdfast.models import CATALOGUE, build
from holdfast.models.losses import loss_for, sum_and_count

HERE = Path(__file__).parent

CLASSES = {"task": "classification", "n_classes": 3}
SAMPLES = {
    "linear": ({"task": "regression", "n_features": 4}, torch.randn(6, 4), torch.randn(6)),
    "logistic": ({**CLASSES, "n_features": 4}, torch.randn(6, 4), torch.arange(6) % 3),
    "logistic_bag": ({"task": "binary", "vocabulary_size": 9}, torch.randint(9, (6, 5)), torch.arange(6) % 2),
    "mlp": ({**CLASSES, "n_features": 4}, torch.randn(6, 2, 2), torch.arange(6) % 3),
    "cnn": (CLASSES, torch.randn(6, 1, 7, 5), torch.arange(6) % 3),
    "gpt": (
        {"task": "language", "vocabulary_size": 9, "context": 8},
        torch.randint(9, (6, 8)),
        torch.randint(9, (6, 8)),
    ),
}


@pytest.fixture(autouse=True)
def _seeded():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny tensors: more threads would only wait for each other
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def mean_loss(model, info, inputs, targets):
    total, count = sum_and_count(loss_for("auto", info, HERE)(model(inputs), targets), len(inputs))
    return total / count


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_model_learns_its_samples_from_the_info_alone(name):
    info, inputs, targets = SAMPLES[name]
    model = build(name, {}, info, HERE)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    before = mean_loss(model, info, inputs, targets).item()
    for _ in range(10):
        optimizer.zero_grad()
        mean_loss(model, info, inputs, targets).backward()
        assert all(parameter.grad is not None for parameter in model.parameters())
        optimizer.step()
    assert mean_loss(model, info, inputs, targets).item() < 0.97 * before


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_arguments_described_are_those_of_the_factory(name):
    entry = CATALOGUE[name]
    assert list(entry.args) == list(inspect.signature(resolve(entry.factory, HERE)).parameters)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_torch_seed_decides_the_weights(name):
    info, _, _ = SAMPLES[name]
    states = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        states.append(torch.cat([p.flatten() for p in build(name, {}, info, HERE).parameters()]))
    assert torch.equal(states[0], states[1])
    assert name.startswith(("linear", "logistic")) or not torch.equal(states[0], states[2])


@pytest.mark.parametrize("name", ["mlp", "cnn", "gpt"])
def test_dropout_is_an_argument_and_ends_with_training(name):
    info, inputs, _ = SAMPLES[name]
    model = build(name, {"dropout": 0.5}, info, HERE)
    assert not torch.equal(model(inputs), model(inputs))
    model.eval()
    assert torch.equal(model(inputs), model(inputs))


@pytest.mark.parametrize("name", ["linear", "logistic_bag", "mlp", "cnn"])
def test_a_single_output_is_flat_for_any_number_of_samples(name):
    info, inputs, _ = SAMPLES[name]
    model = build(name, {"n_outputs": 1}, info, HERE).eval()
    for n in (0, 1, 6):
        assert model(inputs[:n]).shape == (n,)


def test_padding_weighs_nothing_in_a_bag():
    model = build("logistic_bag", {}, {"vocabulary_size": 9}, HERE)
    with torch.no_grad():
        model.weights.weight.normal_()
    assert torch.equal(model(torch.tensor([[4, 7, 0, 0]])), model(torch.tensor([[4, 7]])))
    model(torch.tensor([[4, 0]])).sum().backward()
    assert model.weights.weight.grad[0].abs().sum() == 0


def test_a_gpt_never_looks_ahead():
    info, ids, _ = SAMPLES["gpt"]
    model = build("gpt", {}, info, HERE)
    changed = ids.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % 9
    before, after = model(ids), model(changed)
    torch.testing.assert_close(before[:, :5], after[:, :5])
    assert not torch.allclose(before[:, 5:], after[:, 5:])


def test_a_gpt_minds_the_order_of_its_tokens():
    model = build("gpt", {}, SAMPLES["gpt"][0], HERE)
    assert not torch.allclose(model(torch.tensor([[1, 2, 3]]))[0, -1], model(torch.tensor([[2, 1, 3]]))[0, -1])


def test_a_gpt_has_its_head_tied():
    model = build("gpt", {"width": 16, "layers": 1}, SAMPLES["gpt"][0], HERE)
    assert [tuple(p.shape) for p in model.parameters()].count((9, 16)) == 1


def test_a_gpt_names_what_does_not_fit():
    info, _, _ = SAMPLES["gpt"]
    with pytest.raises(ModelError, match="width 10 is not a multiple of heads 4"):
        build("gpt", {"width": 10}, info, HERE)
    with pytest.raises(ModelError, match="9 tokens at once, but context is 8"):
        build("gpt", {}, info, HERE)(torch.zeros(1, 9, dtype=torch.long))


def test_a_cnn_takes_images_of_any_size():
    model = build("cnn", {"stages": 3, "n_channels": 2}, CLASSES, HERE)
    assert model.eval()(torch.randn(4, 2, 1, 40)).shape == (4, 3)


def test_the_catalogue_is_printed_without_torch():
    code = "import sys, holdfast.models as m; assert m.CATALOGUE; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
