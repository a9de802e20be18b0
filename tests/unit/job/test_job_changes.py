"""What may be changed of a job while it trains, and the sentences for what may not."""

from typing import Any

import pytest

from holdfast import SGD, AdamW, Group, Job, RMSprop, TorchOptimizer
from holdfast.errors import JobError
from holdfast.job.changes import changed


def job(**more: Any) -> Job:
    return Job(model="mlp", data="random", steps=100, batch=8, **more)


@pytest.mark.parametrize(
    ("optimizer", "text"),
    [
        (AdamW(), "optimizer.lr=0.5"),
        (AdamW(), "optimizer.betas=[0.5, 0.9]"),
        (AdamW(groups=(Group(match="*.bias"),)), 'optimizer.groups=[{match="*.bias", lr_scale=0.5}]'),
        (SGD(momentum=0.9), "optimizer.momentum=0.5"),
        (RMSprop(), "optimizer.alpha=0.5"),
        (TorchOptimizer(use="torch.optim:NAdam"), "optimizer.weight_decay=0.5"),
        (AdamW(), 'schedule={kind="linear"}'),
        (AdamW(), "schedule.warmup_steps=9"),
        (AdamW(), "train.clip_value=0.5"),
    ],
)
def test_how_far_a_step_goes_may_be_changed(optimizer: Any, text: str) -> None:
    before = job(optimizer=optimizer)
    after = changed(before, [text])
    assert after != before
    assert after.with_sets([]).resolved() == before.with_sets([text]).resolved()


@pytest.mark.parametrize(
    ("optimizer", "text", "why"),
    [
        (AdamW(), "optimizer.kind=adam", "the state of another optimizer is another one"),
        (SGD(), "optimizer.momentum=0.5", "`optimizer.momentum` cannot be turned on"),
        (SGD(momentum=0.9), "optimizer.momentum=0", "`optimizer.momentum` cannot be turned off"),
        (RMSprop(), "optimizer.centered=true", "it decides what state is kept"),
        (TorchOptimizer(use="torch.optim:NAdam"), "optimizer.args={eps=0.5}", "may depend on it"),
        (AdamW(), 'optimizer.groups=[{match="*.bias"}]', "must match the same parameters as before (none)"),
        (AdamW(), "train.clip_norm=1.0", "`train.clip_norm` cannot be turned on"),
        (AdamW(), "train.steps=7", "`train.steps` cannot be changed while a run trains"),
        (AdamW(), "train.seed=7", "`train.seed` cannot be changed while a run trains"),
        (AdamW(), "model.use=cnn", "`model.use` cannot be changed while a run trains"),
        (AdamW(), "crew.restarts=7", "`crew.restarts` cannot be changed while a run trains"),
        (AdamW(), "optimizer.lr=-1", "optimizer.lr = -1 must be at least 0"),
        (AdamW(), "optimizer.lr", "is not an assignment"),
    ],
)
def test_what_may_not_be_changed_gets_a_sentence(optimizer: Any, text: str, why: str) -> None:
    with pytest.raises(JobError) as refused:
        changed(job(optimizer=optimizer), [text])
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
