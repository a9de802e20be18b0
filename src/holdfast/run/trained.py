"""A trained model taken out of its checkpoint."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from holdfast.ledger.checkpoints import Reader
from holdfast.run.place import RunPlace
from holdfast.run.work import Work, build_work


@dataclass(frozen=True)
class Trained:
    """The job's work with the trained model in place of the fresh one."""

    work: Work
    step: int

    @property
    def model(self) -> nn.Module:
        return self.work.model


def trained_model(place: RunPlace, checkpoint: Path) -> Trained:
    """The model of a checkpoint, in evaluation mode."""
    work = build_work(*place.load_job())
    tensors = {**dict(work.model.named_parameters()), **dict(work.model.named_buffers())}
    with Reader(checkpoint) as reader, torch.no_grad():
        for name, tensor in tensors.items():
            raw = reader.bytes(f"model.{name}")
            if tensor.numel():
                tensor.copy_(torch.frombuffer(raw, dtype=tensor.dtype).view(tensor.shape))
        step = reader.step
    work.model.eval()
    return Trained(work, step)
