"""However a job is spelled, it is the same job."""

import copy
import pickle
from pathlib import Path

import pytest

from holdfast.errors import JobError
from holdfast.job import SGD, AdamW, Cosine, Group, Job, TrainSpec, Workers

NESTED = {
    "model": {"use": "cnn", "args": {"width": 16}},
    "data": {"use": "digits"},
    "train": {"steps": 10, "replicas": 4, "loss": "mse"},
    "optimizer": {"kind": "sgd", "lr": 0.5},
    "schedule": {"kind": "cosine"},
    "crew": {"workers": "2:3"},
}


def test_flat_keywords_words_and_specs_are_the_nested_job() -> None:
    flat = Job(
        model="cnn",
        model_args={"width": 16},
        data="digits",
        steps=10,
        replicas=4,
        loss="mse",
        optimizer=SGD(lr=0.5),
        schedule="cosine",
        workers="2:3",
    )
    assert flat == Job(**NESTED)
    assert hash(flat) == hash(Job(**NESTED))


def test_flat_keywords_join_a_spec() -> None:
    job = Job(model="cnn", data="digits", train=TrainSpec(steps=3), batch=9)
    assert (job.train.steps, job.train.batch) == (3, 9)


def test_a_table_without_kind_is_of_the_default_kind() -> None:
    job = Job(model="cnn", data="digits", steps=9, optimizer={"lr": 0.5}, schedule={"warmup_steps": 2})
    assert isinstance(job.optimizer, AdamW)
    assert job.schedule.kind == "constant"


def test_nothing_can_be_given_twice() -> None:
    with pytest.raises(JobError, match=r"`steps` is given twice, as `steps` and as `train.steps`"):
        Job(model="cnn", data="digits", train={"steps": 3}, steps=4)


def test_resolved_gives_back_an_equal_job(tmp_path: Path) -> None:
    job = Job(**NESTED)
    again = Job.from_dict(job.resolved(), tmp_path)
    assert again == job
    assert again.base_dir == tmp_path
    assert again.fingerprint == job.fingerprint


def test_a_job_cannot_be_changed() -> None:
    with pytest.raises(JobError, match="cannot be changed"):
        Job(**NESTED).train.steps = 5  # type: ignore[misc]


def test_a_job_survives_copy_and_pickle() -> None:
    job = Job(**NESTED, data_args={"n": 1})
    assert pickle.loads(pickle.dumps(job)) == job == copy.deepcopy(job)


def test_groups_read_well_in_python() -> None:
    optimizer = AdamW(groups=(Group(match="*.bias", weight_decay=0.0),))
    job = Job(model="cnn", data="digits", steps=1, optimizer=optimizer, schedule=Cosine(min_ratio=0.1))
    assert job.optimizer == optimizer


@pytest.mark.parametrize(("written", "bounds"), [(3, (3, 3)), ("3", (3, 3)), ("2:6", (2, 6)), (Workers(1, 4), (1, 4))])
def test_workers(written: object, bounds: tuple[int, int]) -> None:
    workers = Workers.parse(written)
    assert (workers.min, workers.max, workers.start) == (*bounds, bounds[1])
    assert Workers.parse(workers.written()) == workers


@pytest.mark.parametrize("written", [0, -1, "6:2", "0:2", "", "2:", ":2", "a", 2.0, None, True])
def test_not_workers(written: object) -> None:
    with pytest.raises(ValueError, match='is not a number of workers: write 3, or "2:6"'):
        Workers.parse(written)
