"""From a job to something that can be computed: data, model, loss and layout, built alike in every process."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from holdfast.data.hashing import derive
from holdfast.data.order import Order
from holdfast.data.source import Dataset
from holdfast.data.sources import load
from holdfast.job import Job, TorchOptimizer
from holdfast.models import build
from holdfast.models.losses import loss_for
from holdfast.planes.arena import available_memory, too_little
from holdfast.step.evaluation import Evaluation
from holdfast.step.layout import Layout, Room, Shapes, layout_of, shapes_of
from holdfast.step.replica import Loss, seed_all
from holdfast.step.rules import elementwise
from holdfast.step.whole import WholeTensor

_INITIAL = 1


@dataclass(frozen=True)
class Work:
    """A job with everything that it names."""

    job: Job
    dataset: Dataset
    model: nn.Module
    loss: Loss
    evaluation: Evaluation
    shapes: Shapes
    steps: int

    def layout(self) -> Layout:
        room = Room(self.job.train.replicas, self.steps, self.job.train.clip_norm is not None)
        judged = self.evaluation
        if judged.rows:
            room = replace(
                room,
                evidence_rows=judged.rows,
                evidence_width=judged.width,
                evidence_chunk=self.job.evaluate.batch,
            )
        return layout_of(self.shapes, room)


def build_work(job: Job, objects: Mapping[str, Any]) -> Work:
    """Load the data, build the model with its first weights from the job's seed, and lay out both."""
    settle(job)
    dataset = load(job.data.use, job.data.args, job.base_dir, objects.get("data"))
    seed_all(derive(job.train.seed, _INITIAL))
    model = _built_if_it_fits(job, dataset, objects.get("model"))
    loss = loss_for(job.train.loss, dataset.info, job.base_dir, objects.get("loss"))
    rule = elementwise(job.optimizer)
    whole = WholeTensor(job.optimizer, job.base_dir) if isinstance(job.optimizer, TorchOptimizer) else None
    shapes = shapes_of(model, job.optimizer, len(rule.initial) if rule else 0, whole)
    return Work(job, dataset, model, loss, Evaluation(model, dataset, job), shapes, num_steps(job, dataset))


def _built_if_it_fits(job: Job, dataset: Dataset, live: object | None) -> nn.Module:
    """The fresh model. One that cannot fit is refused, with the numbers, before its memory is touched."""
    rule = elementwise(job.optimizer)
    copies = 3 + (len(rule.initial) if rule else 1)
    available, count = available_memory(), 0

    def weigh(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal count
        count += parameter.numel() if parameter is not None else 0
        if 4 * count * copies > available:
            raise too_little(
                4 * count * copies,
                f"model '{job.model.use}', with {count:,} parameters or more (first weights, parameters, gradient, "
                "optimizer state),",
            )

    watch = register_module_parameter_registration_hook(weigh)
    try:
        return build(job.model.use, job.model.args, dataset.info, job.base_dir, live)
    finally:
        watch.remove()


def settle(job: Job) -> None:
    """Set what torch keeps per process, so that every process rounds alike."""
    torch.set_num_threads(job.train.threads)
    # The public function imports torch's compiler as well, which takes a second that no worker should wait.
    torch._C._set_deterministic_algorithms(True, warn_only=False)
    # Filling fresh memory would only cost time: nothing here reads memory that was not written.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def num_steps(job: Job, dataset: Dataset) -> int:
    train = job.train
    order = Order(len(dataset.train), train.batch, 0, train.last_batch)
    return train.steps if train.steps is not None else (train.epochs or 0) * order.steps_per_epoch
