"""Job files say everything that a job is."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import JobError
from holdfast.job import CheckpointSpec, Job, load_job
from holdfast.job.toml import read

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.integers() | st.floats(allow_nan=False)
arguments = st.recursive(
    texts | numbers | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
optional = st.none() | st.floats(min_value=1e-9, max_value=1e9)
lengths = st.integers(1, 10**9)


@given(
    name=texts.filter(bool),
    args=st.dictionaries(texts, arguments, max_size=4),
    length=st.builds(lambda field, n: {field: n}, st.sampled_from(["steps", "epochs"]), lengths),
    clip=optional,
    minutes=optional,
    kind=st.sampled_from(["adam", "adamw", "sgd", "adagrad", "rmsprop"]),
    groups=st.lists(st.builds(dict, match=texts.filter(bool), lr_scale=st.floats(0, 10)), max_size=2),
    workers=st.sampled_from([1, 3, "2:6"]),
)
def test_any_job_survives_its_file(tmp_path_factory: pytest.TempPathFactory, **drawn: Any) -> None:
    job = Job(
        name=drawn["name"],
        model={"use": "cnn", "args": drawn["args"]},
        data="digits",
        clip_norm=drawn["clip"],
        optimizer={"kind": drawn["kind"], "groups": drawn["groups"]},
        checkpoint=CheckpointSpec(every_minutes=drawn["minutes"]),
        workers=drawn["workers"],
        **drawn["length"],
    )
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(job.to_toml(), encoding="utf-8")
    again = load_job(path)
    assert again == job
    assert again.canonical() == job.canonical()


def test_what_is_on_by_default_can_be_switched_off() -> None:
    job = Job(model="cnn", data="digits", steps=1, checkpoint={"every_minutes": "none"})
    assert job.checkpoint.every_minutes is None
    assert 'every_minutes = "none"' in job.to_toml()


@pytest.mark.parametrize(
    ("content", "line"), [("a = 1\nb = = 2\n", 2), ('a = 1\n\nb = "x', 3), ("[train\n", 1), ("a", 1)]
)
def test_a_syntax_error_has_its_line(tmp_path: Path, content: str, line: int) -> None:
    path = tmp_path / "job.toml"
    path.write_text(content)
    with pytest.raises(JobError, match=rf"job\.toml:{line}: this is not TOML: "):
        read(path)


def test_a_file_holds_no_objects(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="`data` is a list: write a name or an import path"):
        Job.from_dict({"model": "cnn", "data": ["train.csv", "test.csv"], "train": {"steps": 1}}, tmp_path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(JobError, match="its byte 5 is not UTF-8 text"):
        read(path)
    with pytest.raises(JobError, match=r"cannot read the job file .*: Is a directory"):
        read(tmp_path)
