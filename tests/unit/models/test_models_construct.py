"""From what a job says to a module: names, paths, live objects, and a sentence for each way to fail."""

from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from holdfast.errors import JobError, ModelError
from holdfast.models import build

INFO = {"task": "classification", "n_features": 4, "n_classes": 3}


class Net(nn.Module):
    def __init__(self, n_features, n_classes=7):
        super().__init__()
        self.layer = nn.Linear(n_features, n_classes)


def failing(n_features):
    raise ValueError("no luck")


def test_a_class_is_told_what_it_must_know_and_keeps_its_defaults(tmp_path):
    assert build("<python>:Net", {}, INFO, tmp_path, live=Net).layer.weight.shape == (7, 4)


def test_arguments_of_the_job_win_over_the_dataset(tmp_path):
    args = {"n_features": 2, "n_classes": 5}
    assert build("<python>:Net", args, INFO, tmp_path, live=Net).layer.weight.shape == (5, 2)


def test_a_function_or_a_partial_is_called(tmp_path):
    for factory in (lambda n_classes: Net(1, n_classes), partial(Net, 1, n_classes=3)):
        assert build("<python>:f", {}, INFO, tmp_path, live=factory).layer.weight.shape == (3, 1)


def test_a_factory_of_any_keyword_gets_the_arguments_of_the_job_only(tmp_path):
    def factory(**given):
        assert given == {"n_features": 9}
        return Net(**given)

    assert build("<python>:f", {"n_features": 9}, INFO, tmp_path, live=factory).layer.weight.shape == (7, 9)


def test_an_instance_is_copied(tmp_path):
    theirs = Net(4)
    ours = build("<python>:net", {}, INFO, tmp_path, live=theirs)
    assert torch.equal(ours.layer.weight, theirs.layer.weight)
    assert ours.layer.weight.data_ptr() != theirs.layer.weight.data_ptr()


def test_an_instance_that_cannot_be_copied_is_named(tmp_path):
    net = Net(4)
    net.remembered = net.layer.weight * 2
    with pytest.raises(ModelError, match="model `<python>:net` cannot be copied: RuntimeError"):
        build("<python>:net", {}, INFO, tmp_path, live=net)


def test_a_file_beside_the_job_is_imported(tmp_path):
    (tmp_path / "nets.py").write_text("from torch import nn\ndef net(n_features): return nn.Linear(n_features, 2)\n")
    assert build("nets.py:net", {}, INFO, tmp_path).in_features == 4


def test_an_installed_module_is_imported(tmp_path):
    assert isinstance(build("torch.nn:Linear", {"in_features": 3, "out_features": 2}, INFO, tmp_path), nn.Linear)


@pytest.mark.parametrize(
    ("use", "args", "info", "live", "sentence"),
    [
        ("ccn", {}, INFO, None, "unknown model `ccn`; did you mean `cnn`?"),
        ("transformer", {}, INFO, None, "unknown model `transformer`"),
        ("mlp", {"hiden": [3]}, INFO, None, "model `mlp` has no argument `hiden`; did you mean `hidden`?"),
        (
            "mlp",
            {},
            {"task": "binary"},
            None,
            "model `mlp` needs `n_features`, which the dataset does not give",
        ),
        ("<python>:Net", {}, INFO, None, "`<python>:Net` was a Python object"),
        ("<python>:Net", {"width": 3}, INFO, Net(4), "is already built, so model.args cannot change it"),
    ],
)
def test_a_wrong_job_is_named(use, args, info, live, sentence, tmp_path):
    with pytest.raises(JobError) as caught:
        build(use, args, info, tmp_path, live)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("use", "live", "sentence"),
    [
        ("math:pi", None, "model `math:pi` is a float"),
        ("<python>:dict", dict, "model `<python>:dict` gave a dict, not a torch.nn.Module"),
        ("<python>:f", failing, "could not be built with n_features=4: ValueError: no luck ("),
    ],
)
def test_what_gives_no_module_is_named(use, live, sentence, tmp_path):
    with pytest.raises(ModelError) as caught:
        build(use, {}, INFO, tmp_path, live)
    assert sentence in str(caught.value)


def failing_in_torch(n_features):
    return nn.Linear(n_features, -1)


@pytest.mark.parametrize("factory", [failing, failing_in_torch])
def test_a_failing_factory_is_named_with_its_line(factory, tmp_path):
    with pytest.raises(ModelError) as caught:
        build("<python>:f", {}, INFO, tmp_path, live=factory)
    line = factory.__code__.co_firstlineno + 1
    assert f"{Path(__file__)}:{line})" in str(caught.value)
