"""The hand-written training loop: what a careful PyTorch user writes, used by every peer.

AdamW is the fused one, gradients are set to None, samples are picked from memory by a shuffled index.
"""

import time
from collections.abc import Iterator

import data
import models
import torch
from cases import CASES, Case
from steady import steady_rate
from torch import Tensor, nn
from torch.nn import functional


class Loop:
    """One process's training of a case; `shard` of `num_shards` is its part of every shuffled order.

    With `parts` a batch goes through the model in so many micro-batches, whose gradients are accumulated.
    """

    def __init__(self, name: str, shard: int = 0, num_shards: int = 1, parts: int = 1) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.case = CASES[name]
        self._parts = parts
        self.model: nn.Module = getattr(models, self.case.model)(**self.case.model_args)
        self._inputs, self._targets = getattr(data, self.case.data)(**self.case.data_args)
        self._indices = _indices(len(self._inputs), self.case, shard, num_shards)

    def run(self, steps: int, model: nn.Module | None = None) -> float:
        """Trains `model` (its own one, or a wrapper of it); gives this process's steady samples/s."""
        module = self.model if model is None else model
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True)
        ends = []
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            self.backward(module)
            optimizer.step()
            ends.append(time.perf_counter())
        return steady_rate(ends, self.case.batch)

    def backward(self, module: nn.Module) -> None:
        """Adds the gradients of the next batch."""
        for index in next(self._indices).chunk(self._parts):
            inputs, targets = self._inputs.index_select(0, index), self._targets.index_select(0, index)
            loss = functional.cross_entropy(module(inputs).flatten(0, -2), targets.flatten())
            (loss if self._parts == 1 else loss / self._parts).backward()


def _indices(num_samples: int, case: Case, shard: int, num_shards: int) -> Iterator[Tensor]:
    """Every epoch has one order, known to all shards; each takes its own slice of every global batch."""
    generator = torch.Generator().manual_seed(0)
    stride = case.batch * num_shards
    while True:
        order = torch.randperm(num_samples, generator=generator)
        for start in range(0, num_samples - stride + 1, stride):
            first = start + shard * case.batch
            yield order[first : first + case.batch]
