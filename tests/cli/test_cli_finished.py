"""A run that goes well, and everything that can be asked of it afterwards."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import sklearn
import torch
from safetensors.numpy import load_file
from terminal import Done, Terminal

import holdfast as hf

JOB = """\
name = "tumours"
model = "logistic"
data = "breast_cancer"
[train]
replicas = 4
batch = 32
epochs = 3
[optimizer]
kind = "sgd"
lr = 0.1
"""
ALWAYS = [
    "run",
    "status",
    "steps",
    "samples",
    "seconds",
    "samples_per_s",
    "metrics",
    "model_sha256",
    "views",
    "workers",
]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    return Terminal(tmp_path_factory.mktemp("finished"))


@pytest.fixture(scope="module")
def done(terminal: Terminal) -> Done:
    return terminal.type("run", terminal.write("job.toml", JOB), "--workers", "2", "--json")


def test_one_object_comes_out(done: Done) -> None:
    assert done.code == 0, done.err
    assert done.json.keys() >= set(ALWAYS)
    assert (done.json["status"], done.json["steps"], done.json["workers"]) == ("finished", 42, 2)
    assert done.json["metrics"]["auc"] > 0.9


def test_progress_goes_to_stderr(done: Done) -> None:
    assert "logistic on breast_cancer, 4 replicas, 2 workers" in done.err
    assert "view 1: workers 0, 1" in done.err
    assert "step 42: auc 0." in done.err


def test_another_crew_gives_the_same_model_and_the_command_needs_no_torch(terminal: Terminal, done: Done) -> None:
    """A worker needs a second for torch; the command must not need one more before it starts the worker."""
    code = "import sys, holdfast.cli as c; c.main(); print([n for n in ('torch', 'numpy', 'rich') if n in sys.modules])"
    quiet = terminal.type("run", "job.toml", "--workers", "1", "--quiet", python=("-c", code))
    assert (quiet.code, quiet.err) == (0, "")
    assert done.json["model_sha256"] in quiet.out
    assert quiet.out.splitlines()[-1] == "[]"
    assert len(terminal.type("ps", "--json").json["runs"]) == 2


def test_show(terminal: Terminal, done: Done) -> None:
    shown = terminal.type("show", done.json["run"], "--json").json
    assert {name: shown[name] for name in ALWAYS} == {name: done.json[name] for name in ALWAYS}
    assert shown["job"]["data"]["use"] == "breast_cancer"
    assert [row["step"] for row in shown["checkpoints"]] == [42]
    page = terminal.type("show", done.json["run"]).out
    assert done.json["model_sha256"] in page
    assert "█" in page


def test_a_run_is_named_by_the_beginning_of_its_id(terminal: Terminal, done: Done) -> None:
    assert done.json["run"] in terminal.type("ps", "--all").out
    assert terminal.type("show", done.json["run"][:-1] + "x").sentence.startswith("no run `")


def test_events_and_logs(terminal: Terminal, done: Done) -> None:
    found = terminal.type("events", done.json["run"], "--json").json["events"]
    assert [event["kind"] for event in found if event["kind"] in ("view", "measured")] == ["view", "measured"]
    lines = terminal.type("events", done.json["run"], "--json", "-f").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [event["id"] for event in found]
    assert terminal.type("logs", done.json["run"], "--worker", "0").code == 0
    unknown = terminal.type("logs", done.json["run"], "--worker", "9")
    assert (unknown.code, unknown.sentence) == (7, "this run has no worker 9; its workers: 0, 1")


def test_a_finished_run_is_not_resumed(terminal: Terminal, done: Done) -> None:
    again = terminal.type("resume", done.json["run"], "--json")
    assert (again.code, again.json) == (0, done.json)
    assert "finished already, at step 42" in again.err


def test_a_finished_run_cannot_be_stopped(terminal: Terminal, done: Done) -> None:
    stopped = terminal.type("stop", done.json["run"])
    assert stopped.code == 6
    assert "its status is finished" in stopped.sentence


def test_evaluate(terminal: Terminal, done: Done) -> None:
    found = terminal.type("evaluate", done.json["run"], "--json").json
    assert (found["step"], found["metrics"]) == (42, pytest.approx(done.json["metrics"]))


def test_predict_takes_features_in_their_own_units(terminal: Terminal, done: Done) -> None:
    features, labels = tumours()
    lines = [",".join(f"f{place}" for place in range(30)), *(",".join(map(repr, row)) for row in features.tolist())]
    terminal.write("rows.csv", "\n".join(lines))
    found = terminal.type("predict", done.json["run"], "rows.csv")
    rows = list(csv.DictReader(io.StringIO(found.out)))
    assert rows[0].keys() == {"prediction", "probability"}
    assert np.mean([int(row["prediction"]) for row in rows] == labels) > 0.9


def test_predict_from_arrays_to_a_file(terminal: Terminal, done: Done) -> None:
    np.save(terminal.place / "rows.npy", tumours()[0][:5])
    assert terminal.type("predict", done.json["run"], "rows.npy", "--out", "answers.npz").code == 0
    answers = np.load(terminal.place / "answers.npz")
    assert answers["prediction"].shape == answers["probability"].shape == (5,)


def test_export(terminal: Terminal, done: Done) -> None:
    assert terminal.type("export", done.json["run"], "model.safetensors").code == 0
    weights = load_file(terminal.place / "model.safetensors")
    assert {name: array.shape for name, array in weights.items()} == {"layer.weight": (1, 30), "layer.bias": (1,)}


def test_an_exported_program_gives_the_same_answers(terminal: Terminal, done: Done) -> None:
    assert terminal.type("export", done.json["run"], "model.pt2").code == 0
    program = torch.export.load(terminal.place / "model.pt2").module()
    model = hf.Run(done.json["run"], terminal.home).model()
    rows = torch.randn(5, 30)
    assert torch.equal(program(rows), model(rows))


def test_check_prints_a_job_that_loads(terminal: Terminal, done: Done) -> None:
    checked = terminal.type("check", "job.toml", "--workers", "3")
    assert checked.code == 0
    assert f"# fingerprint  {done.json['fingerprint']}" in checked.out
    assert "# model        31 parameters" in checked.out
    again = hf.load_job(terminal.place / terminal.write("resolved.toml", checked.out))
    assert (again.fingerprint, again.crew.workers.start) == (done.json["fingerprint"], 3)


def tumours() -> tuple[np.ndarray, np.ndarray]:
    path = Path(sklearn.__file__).parent / "datasets" / "data" / "breast_cancer.csv"
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]
