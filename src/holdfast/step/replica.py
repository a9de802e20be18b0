"""What one replica does in a step: its samples, forward, backward, and the partial that it leaves in a slot."""

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from holdfast.data.hashing import derive
from holdfast.data.order import Indices, Order
from holdfast.data.source import Source
from holdfast.errors import HoldfastError, ModelError, RunError
from holdfast.job import TrainSpec
from holdfast.models.losses import sum_and_count
from holdfast.step.gradients import Conflict, Sink
from holdfast.step.memory import Memory

Loss = Callable[[Any, Any], Any]
_INITIAL, _TRAINING = 1, 2


class ReplicaWork:
    """Computes replicas of one job in one process. It reads the committed state and writes only to the slot."""

    def __init__(
        self, model: nn.Module, loss: Loss, source: Source, train: TrainSpec, memory: Memory, sink: Sink
    ) -> None:
        self.order = Order(len(source), train.batch, derive(train.seed, 3), train.last_batch)
        self._model = model.train()
        self._loss = loss
        self._source = source
        self._train = train
        self._memory = memory
        self._sink = sink
        self._committed = memory.buffers()
        self._floats = [name for name, b in self._committed.items() if b.is_floating_point()]
        self.busy_s = 0.0

    def compute(self, step: int, replica: int, slot: int, adding: bool) -> None:
        """Leave the replica's partial in the slot, or add it to the partial of its left neighbours there.

        Raises Conflict when a gradient took an unforeseen way; the slot is then spoilt, and the same call, without
        `adding`, will succeed.
        """
        start = time.perf_counter()
        samples = self.order.slice(step, replica, self._train.replicas)
        seed_all(derive(self._train.seed, _TRAINING, step, replica))
        try:
            self._compute(step, replica, samples, slot, adding)
        except (Conflict, KeyboardInterrupt):
            raise
        except HoldfastError as error:
            raise type(error)(f"{error} ({_where(step, replica, samples)})") from error
        except Exception as error:
            raise ModelError(f"{type(error).__name__}: {error} ({_where(step, replica, samples)})") from error
        self.busy_s += time.perf_counter() - start

    def _compute(self, step: int, replica: int, samples: Indices, slot: int, adding: bool) -> None:
        self._load_buffers()
        self._sink.begin(slot, adding)
        total, count = 0.0, 0.0
        if len(samples):
            loss, count = self._forward(samples)
            total = loss.item()
            if not np.isfinite(total):
                raise RunError(f"the loss is {total}, so training stopped before this step changed anything")
            if loss.requires_grad:
                self._sink.backward(loss / self.order.count(step))
        self._sink.finish()
        self._leave(slot, adding, total, count)

    def _forward(self, samples: Indices) -> tuple[Tensor, float]:
        inputs, targets = self._source.fetch(samples)
        with torch.autocast("cpu", torch.bfloat16, enabled=self._train.precision == "bf16"):
            outputs = call(self._model, inputs)
            loss, count = sum_and_count(self._loss(outputs, targets), len(samples))
        return loss.float(), count

    def _load_buffers(self) -> None:
        if self._committed:
            own = dict(self._model.named_buffers())
            for name, committed in self._committed.items():
                own[name].copy_(committed)

    def _leave(self, slot: int, adding: bool, total: float, count: float) -> None:
        """Statistics and the buffers' changes, weighted by the samples that caused them."""
        place = self._memory.slot(slot)
        stats = torch.tensor([total, count], dtype=torch.float64)
        place.stats.add_(stats) if adding else place.stats.copy_(stats)
        if not self._committed:
            return
        own = dict(self._model.named_buffers())
        if self._floats:
            deltas = torch.cat([self._delta(own[name], name).flatten() for name in self._floats]) * count
            place.deltas.add_(deltas) if adding else place.deltas.copy_(deltas)
        if not adding:
            self._leave_integers(own, place.integers)

    def _leave_integers(self, own: dict[str, Tensor], place: Tensor) -> None:
        for entry in self._memory.layout.shapes.buffers:
            buffer = own[entry.name]
            if not buffer.is_floating_point() and entry.size:
                raw = buffer.contiguous().view(-1).view(torch.uint8)
                place[entry.offset : entry.offset + len(raw)].copy_(raw)

    def _delta(self, own: Tensor, name: str) -> Tensor:
        """How the replica changed a buffer; exactly 0 where it did not, be it infinite."""
        new, old = own.detach().double(), self._committed[name].double()
        return torch.where(new == old, 0.0, new - old)


def seed_all(seed: int) -> None:
    """Every random source that a model or a data set may draw from."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)


def call(model: nn.Module, inputs: Any) -> Any:
    """A tuple or list of inputs goes in as arguments, a dict as keyword arguments, all else as the one argument."""
    if isinstance(inputs, tuple | list):
        return model(*inputs)
    return model(**inputs) if isinstance(inputs, dict) else model(inputs)


def _where(step: int, replica: int, samples: Indices) -> str:
    shown = ", ".join(map(str, samples[:8])) + (", …" if len(samples) > 8 else "")
    return f"step {step}, replica {replica}, samples {shown}"
