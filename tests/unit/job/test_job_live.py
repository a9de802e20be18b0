"""Python objects in a job: named, hashed by content, and kept only if no import finds them."""

import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from holdfast.errors import JobError
from holdfast.job import Job
from holdfast.job.identity import identity


class Net(nn.Module):
    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.layer = nn.Linear(width, 1)


def make(width: int) -> Any:
    return lambda: Net(width)


def job(**fields: Any) -> Job:
    return Job(**{"model": "cnn", "data": "digits", "steps": 1, **fields})


def test_importable_code_goes_by_name() -> None:
    made = job(model=Net, loss=torch.nn.functional.mse_loss)
    assert made.model.use == f"{__name__}:Net"
    assert made.train.loss == "torch.nn.functional:mse_loss"
    assert made.model.identity is not None
    assert made.model.identity.startswith("sha256:")
    assert made.objects == {}


def test_other_objects_are_kept() -> None:
    loss, data, net = (lambda a, b: a - b), (torch.ones(3, 2), torch.zeros(3)), Net()
    made = job(model=net, data=data, loss=loss)
    assert (made.model.use, made.data.use) == ("<python>:Net", "<python>:tuple")
    assert made.train.loss.startswith("<python>:test_other_objects_are_kept.<locals>.<lambda>")
    assert made.objects["model"] is net
    assert made.objects["data"] is data
    assert made.objects["loss"] is loss


def test_the_fingerprint_follows_content() -> None:
    ones = job(data=(torch.ones(3, 2), torch.zeros(3)))
    assert ones.fingerprint == job(data=(torch.ones(3, 2), torch.zeros(3))).fingerprint
    assert ones.fingerprint != job(data=(torch.ones(3, 2), torch.ones(3))).fingerprint


def seeded(seed: int) -> Net:
    torch.manual_seed(seed)
    return Net()


FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
DIFFERENT = [
    (torch.zeros(4), torch.zeros(2, 2)),
    (torch.zeros(4), torch.zeros(4, dtype=torch.float64)),
    (torch.zeros(4, dtype=torch.bfloat16), torch.ones(4, dtype=torch.bfloat16)),
    (torch.tensor(1.0), torch.tensor(2.0)),
    (torch.zeros(0), torch.zeros(0, 1)),
    (np.zeros(4), np.zeros(4, dtype=np.float32)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.zeros((0, 3)), np.zeros((0, 2))),
    (np.float64(1).reshape(()), np.float64(2).reshape(())),
    ({"a", "b"}, {"a", "c"}),
    (np.array([1, "a"], dtype=object), np.array([1, "b"], dtype=object)),
    (FRAME, FRAME.rename(columns={"a": "c"})),
    (FRAME, FRAME.assign(b=["x", "z"])),
    (FRAME, FRAME.astype({"a": "float64"})),
    (seeded(1), seeded(2)),
    (make(1), make(2)),
    (lambda: 1, lambda: 2),
    (lambda a=1: a, lambda a=2: a),
    (partial(make, 1), partial(make, 2)),
    ([1, 2], (1, 2)),
    (Net, nn.Linear),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_different_content_has_another_identity(one: Any, other: Any) -> None:
    assert identity("data", one) != identity("data", other)


SAME = [
    (torch.arange(6).reshape(2, 3).T, torch.arange(6).reshape(2, 3).T.contiguous()),
    (np.arange(6)[::2], np.array([0, 2, 4])),
    (FRAME, FRAME.copy()),
    (seeded(1), seeded(1)),
    (make(1), make(1)),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=range(len(SAME)))
def test_the_same_content_has_the_same_identity(one: Any, other: Any) -> None:
    assert identity("data", one) == identity("data", other)


SCRIPT = """
from holdfast.job.identity import identity
WIDTH = {width}
def helper():
    return {returned}
class Net:
    def __init__(self):
        self.sizes = [WIDTH, helper(), {{"a", "b", "c"}}]
def factory():
    return Net()
for thing in (Net, factory, lambda: Net(), Net()):
    print(identity("model", thing))
"""


def identities(tmp_path: Path, **values: int) -> list[str]:
    """What other processes say, of code in a file and of code that is typed in."""
    script = SCRIPT.format(**values)
    (tmp_path / "script.py").write_text(script)
    said = ""
    for arguments in (["script.py"], ["-c", script]):
        command = [sys.executable, *arguments]
        said += subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    return said.split()


def test_identity_holds_between_processes_and_reaches_what_code_refers_to(tmp_path: Path) -> None:
    before = identities(tmp_path, width=2, returned=1)
    assert before == identities(tmp_path, width=2, returned=1)
    for changed in ({"width": 3, "returned": 1}, {"width": 2, "returned": 5}):
        assert not set(before) & set(identities(tmp_path, **changed))


def test_recursive_code_has_an_identity() -> None:
    def outer(n: int) -> int:
        return outer(n - 1) if n else 0

    assert identity("loss", outer).startswith("sha256:")


def test_what_cannot_be_pickled_is_refused() -> None:
    with pytest.raises(JobError, match="the data `list` cannot be sent to workers, because"):
        job(data=[threading.Lock()])
