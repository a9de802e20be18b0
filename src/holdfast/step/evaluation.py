"""Measuring the model on the whole test set: any worker fills any chunk of the evidence, and one reads it all.

Evidence lies in the order of the samples, so a metric does not depend on who filled which chunk.
"""

from typing import Any

import numpy as np
import torch
from torch import nn

from holdfast.data.source import Dataset
from holdfast.job import Job
from holdfast.models.metrics import compute, evidence, evidence_width, metrics_for
from holdfast.step.memory import Memory
from holdfast.step.replica import call


class Evaluation:
    """Evaluates one model in one process; there may be nothing to measure."""

    def __init__(self, model: nn.Module, dataset: Dataset, job: Job) -> None:
        self._model = model
        self._source = dataset.test
        self._task: str | None = dataset.info.get("task")
        self._names = metrics_for(job.evaluate.metrics, self._task)
        self._chunk = job.evaluate.batch
        self._every = job.evaluate.every_steps
        self._bf16 = job.train.precision == "bf16"
        self.rows = len(dataset.test) if dataset.test is not None and self._names else 0
        self.width = evidence_width(self._task or "", dataset.info) if self.rows else 0

    def is_due(self, step: int, steps: int) -> bool:
        """Whether the model is to be measured once so many steps are done."""
        regular = self._every is not None and step > 0 and step % self._every == 0
        return self.rows > 0 and (regular or step == steps)

    def fill(self, memory: Memory, chunk: int) -> None:
        """Compute one chunk of the evidence with the committed model."""
        start = chunk * self._chunk
        stop = min(start + self._chunk, self.rows)
        memory.evidence[start:stop].copy_(self._evidence(memory, start, stop))

    def metrics(self, memory: Memory) -> dict[str, Any]:
        return compute(self._names, self._task or "", memory.evidence.numpy())

    def _evidence(self, memory: Memory, start: int, stop: int) -> torch.Tensor:
        own = dict(self._model.named_buffers())
        for name, buffer in memory.buffers().items():
            own[name].copy_(buffer)
        return self.judge(start, stop)

    def judge(self, start: int, stop: int) -> torch.Tensor:
        """The evidence of some test samples, from the model as it is."""
        assert self._source is not None
        inputs, targets = self._source.fetch(np.arange(start, stop))
        self._model.eval()
        try:
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=self._bf16):
                outputs = call(self._model, inputs)
        finally:
            self._model.train()
        return evidence(self._task or "", outputs.float(), targets)

    def alone(self) -> dict[str, Any]:
        """All metrics, computed by this process alone."""
        parts = [self.judge(at, min(at + self._chunk, self.rows)) for at in range(0, self.rows, self._chunk)]
        return compute(self._names, self._task or "", torch.cat(parts).numpy())
