"""The fingerprint changes with what can change a bit, and with nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.job import Job

BASE: dict[str, Any] = {"model": "cnn", "data": "digits", "steps": 10}


@pytest.mark.parametrize(
    "change",
    [
        {"model": "mlp"},
        {"model_args": {"width": 3}},
        {"data_args": {"n": 3}},
        {"steps": 11},
        {"seed": 1},
        {"replicas": 4},
        {"threads": 2},
        {"optimizer": {"lr": 0.5}},
        {"optimizer": "adam"},
        {"schedule": "cosine"},
        {"metrics": ["auc"]},
    ],
)
def test_what_can_change_a_bit_changes_it(change: dict[str, Any]) -> None:
    assert Job(**{**BASE, **change}).fingerprint != Job(**BASE).fingerprint


@pytest.mark.parametrize(
    "change", [{"name": "x"}, {"workers": "2:4"}, {"checkpoint": {"keep": 9}}, {"optimizer": {"lr": 0.001}}]
)
def test_what_cannot_does_not(change: dict[str, Any]) -> None:
    assert Job(**{**BASE, **change}).fingerprint == Job(**BASE).fingerprint


def test_it_does_not_drift() -> None:
    """Runs of the past are known by their fingerprints: a change here needs another canonical.FORMAT."""
    assert Job(**BASE).fingerprint == "509eed4d74b48e4b"


def test_canonical_is_sorted_and_compact() -> None:
    text = Job(**BASE).canonical()
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")).encode()


def test_code_in_files_counts_by_content_not_by_place(tmp_path: Path) -> None:
    fields = {**BASE, "model": "net.py:Net"}
    for folder, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.py").write_text(text)
    prints = [Job.from_dict(fields, tmp_path / folder).fingerprint for folder in ("a", "b", "c")]
    assert prints[0] == prints[1] != prints[2]


def test_an_edit_beside_the_job_is_seen(tmp_path: Path) -> None:
    job = Job.from_dict({**BASE, "loss": "loss.py:f"}, tmp_path)
    before = job.fingerprint
    (tmp_path / "loss.py").write_text("f = 1")
    assert job.fingerprint != before
