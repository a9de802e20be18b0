"""`--set` changes any field, and says no like a file would."""

import pytest

from holdfast.errors import JobError
from holdfast.job import Job, RMSprop

JOB = Job(model="cnn", data="digits", steps=10, model_args={"width": 8})


def test_values_are_toml_or_bare_words() -> None:
    job = JOB.with_sets(["train.batch=32", "optimizer.lr = 0.5", "model.use=mlp", "model.args.deep=true", 'name="a=b"'])
    assert (job.train.batch, job.optimizer.lr, job.model.use, job.name) == (32, 0.5, "mlp", "a=b")
    assert job.model.args == {"width": 8, "deep": True}
    assert JOB.train.batch == 64


def test_whole_sections_lists_and_short_names() -> None:
    job = JOB.with_sets(
        ["optimizer=rmsprop", "replicas=4", 'evaluate.metrics=["auc"]', "workers=2:3", "clip_norm=none"]
    )
    assert isinstance(job.optimizer, RMSprop)
    assert (job.train.replicas, job.evaluate.metrics, job.crew.workers.min) == (4, ("auc",), 2)


def test_a_value_cannot_smuggle_in_another_line() -> None:
    assert JOB.with_sets(["name=1\nother = 2"]).name == "1\nother = 2"


def test_steps_and_epochs_replace_each_other() -> None:
    job = JOB.with_sets(["train.epochs=2"])
    assert (job.train.steps, job.train.epochs) == (None, 2)
    assert job.with_sets(["steps=5"]).train.epochs is None


def test_a_later_assignment_wins() -> None:
    assert JOB.with_sets(["train.steps=5", "train.steps=6"]).train.steps == 6


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("train.stepz=5", "unknown field `train.stepz`; did you mean `steps`?"),
        ("trian.steps=5", "unknown field `trian`; did you mean `train`?"),
        ("train.steps=abc", "train.steps = 'abc' is not a whole number"),
        ("train.steps", "`train.steps` is not an assignment: write it like train.steps=500"),
        ("=5", "`=5` is not an assignment"),
        ("train..steps=5", r"`train\.\.steps=5` is not an assignment"),
        ("name.first=5", "`name.first` cannot be set: `name` is not a table"),
    ],
)
def test_mistakes(assignment: str, sentence: str) -> None:
    with pytest.raises(JobError, match=sentence):
        JOB.with_sets(["name=x", assignment])


def test_a_new_name_lets_go_of_the_live_object() -> None:
    job = Job(model=lambda: None, data="digits", steps=1, loss=lambda a, b: a)
    kept = job.with_sets(["steps=2"])
    assert kept.objects == job.objects
    assert kept.model == job.model
    renamed = job.with_sets(["model.use=cnn"])
    assert renamed.objects.keys() == {"loss"}
    assert renamed.model.identity is None
    assert job.with_sets(["loss=mse"]).train.loss_identity is None
    assert job.with_sets(["model=cnn"]).model.identity is None
