"""The built-in sources, and finding what a job means by its data."""

import __future__

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import datasets

from holdfast.data.source import Dataset, TensorSource
from holdfast.data.sources import SOURCES, load
from holdfast.errors import DataError, JobError, LedgerError

HERE = Path()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def tensors(source: Any) -> tuple[torch.Tensor, torch.Tensor]:
    inputs, targets = source.fetch(np.arange(len(source)))
    return inputs, targets


def both(dataset: Dataset) -> tuple[torch.Tensor, torch.Tensor]:
    (inputs, targets), (more_inputs, more_targets) = tensors(dataset.train), tensors(dataset.test)
    return torch.cat([inputs, more_inputs]), torch.cat([targets, more_targets])


def rows_of(inputs: torch.Tensor) -> list[tuple[float, ...]]:
    return sorted(tuple(row) for row in inputs.flatten(1).tolist())


@pytest.mark.parametrize("name", sorted(set(SOURCES) - {"csv"}))
def test_each_source_fits_its_description(name: str) -> None:
    small = {"access_log": {"rows": 500}, "stdlib_text": {"max_bytes": 20_000}}
    dataset = load(name, small.get(name, {}), HERE)
    inputs, targets = dataset.train.fetch(np.array([3, 0, 3]))
    assert len(inputs) == len(targets) == 3
    assert torch.equal(inputs[0], inputs[2])
    task = dataset.info["task"]
    assert targets.dtype == (torch.float32 if task in ("binary", "regression") else torch.int64)
    if task == "classification":
        assert set(targets.tolist()) <= set(range(dataset.info["n_classes"]))
    if "vocabulary_size" in dataset.info:
        assert 0 <= int(inputs.min()) <= int(inputs.max()) < dataset.info["vocabulary_size"]
    else:
        assert inputs[0].numel() == dataset.info["n_features"]


def test_digits_are_those_of_scikit_learn() -> None:
    dataset = load("digits", {}, HERE)
    theirs = torch.from_numpy(datasets.load_digits().data / 16).float()
    assert rows_of(both(dataset)[0]) == rows_of(theirs)
    assert tensors(dataset.train)[0].shape[1:] == (1, 8, 8)
    assert dataset.test is not None
    assert len(dataset.test) / len(theirs) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("name", "bunch"),
    [
        ("breast_cancer", datasets.load_breast_cancer()),
        ("diabetes", datasets.load_diabetes(scaled=False)),
    ],
)
def test_tables_are_those_of_scikit_learn_standardised(name: str, bunch: Any) -> None:
    dataset = load(name, {}, HERE)
    inputs, targets = both(dataset)
    train = tensors(dataset.train)[0]
    assert train.mean(dim=0).abs().max() < 1e-5
    assert (train.std(dim=0, correction=0) - 1).abs().max() < 1e-5
    for column in range(bunch.data.shape[1]):
        ours, theirs = np.sort(inputs[:, column].numpy()), np.sort(bunch.data[:, column])
        assert np.corrcoef(ours, theirs)[0, 1] > 1 - 1e-6
    if name == "diabetes":
        targets = targets * dataset.info["target_deviation"] + dataset.info["target_mean"]
    assert np.allclose(np.sort(targets.numpy()), np.sort(bunch.target), atol=1e-3)


def test_text_windows_are_followed_by_their_next_character() -> None:
    dataset = load("stdlib_text", {"context": 8, "max_bytes": 5000}, HERE)
    inputs, targets = tensors(dataset.train)
    assert inputs.shape == targets.shape
    assert torch.equal(inputs[1:], targets[:-1])
    held_out, following = tensors(dataset.test)
    assert torch.equal(held_out[1:, 0], following[:-1, -1])
    text = "".join(dataset.info["characters"][token] for token in inputs[0].tolist())
    assert text == Path(str(__future__.__file__)).read_text()[:8]


def test_text_too_short_for_a_window() -> None:
    with pytest.raises(DataError, match="hold no window of 64"):
        load("stdlib_text", {"max_bytes": 60}, HERE)
    with pytest.raises(JobError, match="context must be 1 or more"):
        load("stdlib_text", {"context": 0}, HERE)


def test_access_log_is_made_once_and_split_by_user(home: Path) -> None:
    dataset = load("access_log", {"rows": 3000, "seed": 4}, HERE)
    (path,) = (home / "data").iterdir()
    made = path.stat().st_mtime_ns
    again = load("access_log", {"rows": 3000, "seed": 4}, HERE)
    assert path.stat().st_mtime_ns == made
    assert torch.equal(both(dataset)[0], both(again)[0])
    from_file = load("access_log", {"path": path.name}, path.parent)
    assert torch.equal(both(dataset)[0], both(from_file)[0])


LOG = [
    "user\tpage\ttime\tquery\tclicked",
    "ann\t/a\t2026-03-02T05:00:00\tred shoe\t1",
    "ben\t/b\t2026-03-02T23:10:00\t\t0",
    "eve\t/a\t2026-03-02T00:10:00\tred red cup\t0",
    "al\t/c\t2026-03-02T12:10:00\tcup new\t1",  # by its hash a test user, whose words teach nothing
]


def test_access_log_ids_are_hour_then_page_then_words(tmp_path: Path) -> None:
    (tmp_path / "log.tsv").write_text("\n".join(LOG))
    dataset = load("access_log", {"path": "log.tsv", "min_count": 1, "words": 3}, tmp_path)
    page_a, page_b, other_word, red, cup = 26, 27, 28, 29, 30
    assert dataset.info["vocabulary_size"] == 31
    assert tensors(dataset.train)[0].tolist() == [
        [6, page_a, red, other_word, 0],
        [24, page_b, 0, 0, 0],
        [1, page_a, red, red, cup],
    ]
    assert tensors(dataset.test)[0].tolist() == [[13, 25, cup, other_word, 0]]
    assert [tensors(part)[1].tolist() for part in (dataset.train, dataset.test)] == [[1, 0, 0], [1]]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "a header of user, page, time, query, clicked with tabs"),
        (LOG[:1], "a header of user, page, time, query, clicked with tabs"),
        (["a,b", *LOG[1:]], "a header of user, page"),
        ([*LOG, "ann\t/a"], r"log.tsv:6: not 5 cells of which the last is 0 or 1: 'ann"),
        ([*LOG, LOG[1] + "2"], r"log.tsv:6: not 5 cells"),
        ([*LOG, LOG[1].replace("2026", "soon")], "a time that is not as"),
    ],
)
def test_a_bad_access_log_is_named(tmp_path: Path, lines: list[str], sentence: str) -> None:
    (tmp_path / "log.tsv").write_text("\n".join(lines))
    with pytest.raises(DataError, match=sentence):
        load("access_log", {"path": "log.tsv"}, tmp_path)


def test_a_missing_log_and_a_home_that_cannot_be_written(tmp_path: Path, home: Path) -> None:
    with pytest.raises(DataError, match=r"the access log .*no.tsv cannot be read: No such file"):
        load("access_log", {"path": "no.tsv"}, tmp_path)
    home.write_text("a file")
    with pytest.raises(LedgerError, match="File exists"):
        load("access_log", {"rows": 50}, HERE)


def test_a_cache_that_cannot_be_written(home: Path) -> None:
    home.mkdir()
    (home / "data").write_text("a file")
    with pytest.raises(DataError, match="cannot be written: File exists; set HOLDFAST_HOME elsewhere"):
        load("access_log", {"rows": 50}, HERE)


def csv_file(folder: Path, text: str) -> Path:
    (folder / "table.csv").write_text(text)
    return folder


def test_csv_columns(tmp_path: Path) -> None:
    rows = "\n".join(f"{number % 50},{number},{number % 3},{number % 2}" for number in range(200))
    folder = csv_file(tmp_path, "who,a,kind,flag\n" + rows + "\n\n")
    args = {"path": "table.csv", "target": "kind", "uid": ["who"]}
    dataset = load("csv", args, folder)
    known = {"task": "classification", "n_features": 2, "n_classes": 3, "columns": ["a", "flag"]}
    assert dataset.info.items() >= known.items()
    assert len(dataset.info["feature_mean"]) == len(dataset.info["feature_deviation"]) == 2
    assert len(both(dataset)[0]) == 200
    assert load("csv", {**args, "target": "flag"}, folder).info["task"] == "binary"
    assert load("csv", {**args, "target": "a"}, folder).info["task"] == "regression"
    assert load("csv", {**args, "task": "regression"}, folder).info["task"] == "regression"
    assert load("csv", {"path": "table.csv", "target": "kind"}, folder).info["n_features"] == 3


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("", DataError, "has no rows"),
        ("a,y\n", DataError, "has no rows"),
        ("a,y\n1,0\n\nred,1\n", DataError, "table.csv:4: column `a` holds 'red', not a number"),
        ("a,y\n1,0\n1\n", DataError, "table.csv:3: 1 cells, where the header has 2"),
        ("a,y\n1,0\nnan,1\n", DataError, "table.csv:3: a cell is not finite"),
        ("a,yy\n1,0\n", JobError, "has no column `y`; did you mean `yy`?|has no column `y`; known: a, yy"),
        ("y\n1\n", DataError, "has no column besides y"),
    ],
)
def test_a_bad_table_is_named(tmp_path: Path, text: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        load("csv", {"path": "table.csv", "target": "y"}, csv_file(tmp_path, text))


@pytest.mark.parametrize(
    ("task", "error", "sentence"),
    [
        ("binary", DataError, r"a binary target is 0 or 1, and this one goes from 0.0 to 1.5"),
        ("classification", DataError, r"a class must be one of the numbers 0, 1, 2"),
        ("regresion", JobError, r"unknown task `regresion`; did you mean `regression`\?"),
    ],
)
def test_a_target_must_fit_its_task(tmp_path: Path, task: str, error: type[Exception], sentence: str) -> None:
    folder = csv_file(tmp_path, "a,y\n1,0\n2,1.5\n")
    with pytest.raises(error, match=sentence):
        load("csv", {"path": "table.csv", "target": "y", "task": task}, folder)


def test_a_missing_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the data file .*table.csv cannot be read: No such file"):
        load("csv", {"path": "table.csv", "target": "y"}, tmp_path)


MODULE = """
import torch
def made(n=4):
    return torch.zeros(n, 2), torch.zeros(n)
def broken():
    raise ValueError("no such bucket")
pair = made()
"""


def test_data_by_import_path(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    assert len(load("mine.py:made", {"n": 6}, tmp_path).train) == 6
    assert len(load("mine.py:pair", {}, tmp_path).train) == 4
    with pytest.raises(JobError, match=r"`mine.py:pair` is a tuple: remove them"):
        load("mine.py:pair", {"n": 6}, tmp_path)
    with pytest.raises(JobError, match=r"data.args.nn is unknown to `mine.py:made`; did you mean `n`?"):
        load("mine.py:made", {"nn": 6}, tmp_path)
    with pytest.raises(DataError, match=r"`mine.py:broken` failed: ValueError: no such bucket \(.*mine.py:6\)"):
        load("mine.py:broken", {}, tmp_path)


def test_live_objects(tmp_path: Path) -> None:
    pair = (torch.zeros(5, 2), torch.zeros(5))
    assert len(load("<python>:tuple", {}, tmp_path, live=pair).train) == 5
    assert len(load("<python>:TensorSource", {}, tmp_path, live=TensorSource(*pair)).train) == 5
    assert len(load("<python>:f", {"n": 3}, tmp_path, live=lambda n: (pair[0][:n], pair[1][:n])).train) == 3


def test_unknown_names_come_with_a_hint() -> None:
    with pytest.raises(JobError, match=r"unknown data `digit`; did you mean `digits`?"):
        load("digit", {}, HERE)
    with pytest.raises(JobError, match=r"data.args.contxt is unknown to `stdlib_text`; did you mean `context`?"):
        load("stdlib_text", {"contxt": 3}, HERE)
    with pytest.raises(JobError, match=r"data.args of `csv`: missing a required argument: 'path'"):
        load("csv", {}, HERE)


def test_random_data_are_seeded_and_have_no_test_part() -> None:
    first, again, other = (load("random", {"n": 50, "seed": seed}, HERE) for seed in (1, 1, 2))
    assert torch.equal(tensors(first.train)[0], tensors(again.train)[0])
    assert not torch.equal(tensors(first.train)[0], tensors(other.train)[0])
    assert first.test is None
    with pytest.raises(JobError, match="not 0, 20, 2"):
        load("random", {"n": 0}, HERE)


def test_looking_at_the_catalogue_imports_no_source() -> None:
    code = """
import sys, holdfast.data.sources as sources
print([name for name in sys.modules if name.startswith(("sklearn", "pandas", sources.__name__ + "."))])
"""
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"
