"""Every mistake in a job is one sentence that names the field, the value and the way out."""

from typing import Any

import pytest

from holdfast.errors import JobError
from holdfast.job import SGD, AdamW, Job

SENTENCES = [
    ({"repliacs": 4}, "unknown field `repliacs`; did you mean `replicas`?"),
    ({"train": {"steps": 3, "bacth": 4}}, "unknown field `train.bacth`; did you mean `batch`?"),
    ({"lr": 0.1}, "unknown field `lr`; did you mean `optimizer.lr`?"),
    ({"train": {"steps": 3, "workers": 4}}, "unknown field `train.workers`; did you mean `crew.workers`?"),
    (
        {"optimizer": {"kind": "sgd", "betas": [0.1, 0.2]}},
        "unknown field `optimizer.betas` for this kind: it belongs to adam, adamw",
    ),
    (
        {"optimizer": {"groups": [{"match": "*", "lr_scal": 2}]}},
        "unknown field `optimizer.groups[0].lr_scal`; did you mean `lr_scale`?",
    ),
    ({"crew": {"zzz": 1}}, "unknown field `crew.zzz`; known: grace_s, patience_s, restarts, workers"),
    ({"optimizer": "adamm"}, "optimizer.kind = 'adamm' is unknown; did you mean `adam`?"),
    ({"schedule": "cosin"}, "schedule.kind = 'cosin' is unknown; did you mean `cosine`?"),
    ({"precision": "fp16"}, "train.precision = 'fp16' is unknown: write one of fp32, bf16"),
    ({"steps": "500"}, "train.steps = '500' is not a whole number: write it like 8, without quotes or point"),
    ({"steps": True}, "train.steps = True is not a whole number: write it like 8, without quotes or point"),
    ({"optimizer": {"lr": "x"}}, "optimizer.lr = 'x' is not a number: write it like 0.5, without quotes"),
    ({"optimizer": {"lr": float("nan")}}, "optimizer.lr = nan is not a finite number: write it like 0.5"),
    ({"optimizer": 5}, "optimizer = 5 is not a table: write it like { field = value }"),
    (
        {"optimizer": {"kind": "sgd", "nesterov": 1}},
        "optimizer.nesterov = 1 is not true or false: write one of the two, without quotes",
    ),
    (
        {"evaluate": {"metrics": "auc"}},
        'evaluate.metrics = \'auc\' is not a list: write it like ["auc", "accuracy"] or [0.9, 0.99]',
    ),
    ({"steps": 0}, "train.steps = 0 must be at least 1"),
    ({"clip_norm": -1.5}, "train.clip_norm = -1.5 must be more than 0"),
    ({"optimizer": {"betas": [0.9, 1]}}, "optimizer.betas[1] = 1 must be less than 1"),
    ({"schedule": {"kind": "linear", "min_ratio": 2}}, "schedule.min_ratio = 2 must be at most 1"),
    ({"name": ""}, "name = '' must not be empty"),
    ({"model": 5}, 'model.use = 5 is not text: write it like "name", in quotes'),
    ({"schedule": "step"}, "`schedule.every_steps` is missing: add it (Steps between two drops)"),
    ({"epochs": 3}, "train has both steps = 10 and epochs = 3: give one of them"),
    (
        {"replicas": 100},
        "train has replicas = 100 for batch = 64, so some would get no sample: lower `replicas` or raise `batch`",
    ),
    (
        {"workers": 9},
        "crew.workers = 9 is more than train.replicas = 8: a worker without a replica has nothing to do, "
        "so use fewer workers or more replicas",
    ),
    (
        {"workers": "x"},
        "crew.workers = 'x' is not a number of workers: write 3, or \"2:6\" for at least 2 and at most 6",
    ),
    (
        {"schedule": {"warmup_steps": 20}},
        "schedule.warmup_steps = 20 leaves nothing of train.steps = 10: warm up for fewer steps or train for more",
    ),
    (
        {"optimizer": {"kind": "sgd", "nesterov": True}},
        "optimizer has nesterov = true with momentum = 0.0 and dampening = 0.0: "
        "it needs a momentum above 0 and dampening = 0",
    ),
    (
        {"model_args": {"a": [{"b": None}]}},
        "model.args holds None, which a job file cannot say: leave that argument out",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), SENTENCES, ids=lambda value: str(value)[:40])
def test_mistakes(change: dict[str, Any], sentence: str) -> None:
    fields: dict[str, Any] = {"model": "cnn", "data": "digits", "steps": 10, **change}
    if "train" in change:
        del fields["steps"]
    with pytest.raises(JobError) as caught:
        Job(**fields)
    assert str(caught.value) == sentence


def test_each_mistake_has_its_line() -> None:
    with pytest.raises(JobError) as caught:
        Job(model="cnn", data="digits", steps=1, seed=-1, threads=0)
    assert str(caught.value).splitlines() == [
        "train.seed = -1 must be at least 0",
        "train.threads = 0 must be at least 1",
    ]


def test_what_is_missing_comes_with_an_example() -> None:
    with pytest.raises(JobError) as caught:
        Job()
    assert str(caught.value).splitlines() == [
        '`model` is missing: add it (What is trained, for example model = "cnn")',
        '`data` is missing: add it (What it is trained on, for example data = "digits")',
        "train has no length: give `steps` or `epochs`, for example steps = 1000",
    ]


def test_a_section_built_alone_speaks_as_well() -> None:
    with pytest.raises(JobError, match=r"unknown field `moment`; did you mean `momentum`\?"):
        SGD(moment=0.9)  # type: ignore[call-arg]
    with pytest.raises(JobError, match="lr = 'x' is not a number"):
        AdamW(lr="x")  # type: ignore[arg-type]


def test_a_long_value_is_shortened() -> None:
    with pytest.raises(JobError) as caught:
        Job(model="cnn", data="digits", steps="9" * 1000)
    assert len(str(caught.value)) < 150
