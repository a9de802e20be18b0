"""A whole run in one process: the memory, and as many workers' seats as a test likes."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from holdfast.job import Job
from holdfast.planes.arena import Arena, create
from holdfast.run.gathering import Gathering, cover
from holdfast.run.work import Work, build_work
from holdfast.step.apply import Applier, step_of
from holdfast.step.gradients import Sink
from holdfast.step.memory import Memory
from holdfast.step.replica import ReplicaWork
from holdfast.step.routes import shorten
from holdfast.step.state import attach, begin, sections


@dataclass
class Hands:
    """What one worker computes with, in its seat."""

    seat: int
    work: Work
    sink: Sink
    replica: ReplicaWork
    gathering: Gathering
    applier: Applier


class Rig:
    def __init__(self, job: Job, memory: Memory, work: Work) -> None:
        self.job = job
        self.memory = memory
        self.work = work
        begin(work.model, memory, job.optimizer)

    def hands(self, seat: int) -> Hands:
        """A new worker: a model of its own, built as every worker builds it."""
        work = build_work(self.job, self.job.objects)
        sink = Sink(work.model, self.memory)
        shorten(work.model, sink, self.job.train.precision)
        replica = ReplicaWork(work.model, work.loss, work.dataset.train, self.job.train, self.memory, sink)
        attach(work.model, self.memory)
        gathering = Gathering(self.memory, replica, sink, seat, lambda: None)
        return Hands(seat, work, sink, replica, gathering, Applier(self.memory, self.job, seat, work.steps))

    def gather(self, hands: Hands, step: int) -> None:
        hands.gathering.gather(step, range(self.job.train.replicas))

    def apply(self, hands: Hands, step: int, keep: bool = False) -> None:
        """All of the second half that has not been done yet."""
        memory, applier = self.memory, hands.applier
        applier.plan(cover(memory, step), hands.replica.order.count(step))
        _, count = applier.statistics()
        pieces = range(len(memory.layout.shapes.pieces))
        norm = None
        if self.job.train.clip_norm is not None:
            applier.measure(pieces, count)
            norm = applier.norm()
        left = [index for index in pieces if memory.done[index] != step + 1]
        applier.apply(step, left, count, norm, keep)
        applier.finish_buffers(step, count, keep)

    def train(self, hands: Hands, steps: int | None = None) -> None:
        """Up to so many steps; all of them if not said."""
        for step in range(step_of(self.memory), self.work.steps if steps is None else steps):
            self.gather(hands, step)
            self.apply(hands, step)

    def parameters(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.memory.named_parameters().items()}

    def persistent(self) -> bytes:
        """Every byte that a checkpoint would keep."""
        parts = sections(self.memory.layout, self.work.steps)
        return b"".join(self.memory.arena.bytes_at(part["offset"], part["bytes"]) for part in parts)


@contextmanager
def rig(job: Job) -> Iterator[Rig]:
    """The arena lives as long as the block; what is left of its mapping goes with the last tensor."""
    work = build_work(job, job.objects)
    layout = work.layout()
    descriptor = create("test")
    try:
        yield Rig(job, Memory(Arena(descriptor, layout.size), layout), work)
    finally:
        os.close(descriptor)


def job_of(model: Any, inputs: Any, targets: Tensor, **fields: Any) -> Job:
    """A small job; four replicas of a batch of twelve unless said otherwise."""
    usual: Mapping[str, Any] = {"replicas": 4, "batch": 12, "steps": 4, "loss": "mse", "optimizer": "sgd"}
    return Job(model=model, data=(inputs, targets), **{**usual, **fields})


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Rude(torch.optim.SGD):
    """A user's optimizer that changes the gradient it is given, as none should."""

    def step(self) -> None:  # type: ignore[override]
        for parameter in self.param_groups[0]["params"]:
            parameter.grad.mul_(2.0)
        super().step()
