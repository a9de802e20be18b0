"""The committed state of a run: how it begins, what a checkpoint keeps of it, and how it is read back."""

from typing import Any

import torch
from torch import nn

from holdfast.errors import CheckpointError
from holdfast.faults import reached
from holdfast.job import AnyOptimizer
from holdfast.ledger.checkpoints import Reader
from holdfast.step.layout import Entry, Layout
from holdfast.step.memory import Memory
from holdfast.step.places import HISTORY, Header
from holdfast.step.rules import elementwise

_TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
_SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def attach(model: nn.Module, memory: Memory) -> None:
    """Make the module's parameters views of the shared ones."""
    shared = memory.named_parameters()
    for name, parameter in model.named_parameters():
        parameter.data = shared[name]


def begin(model: nn.Module, memory: Memory, optimizer: AnyOptimizer) -> None:
    """Fill the state from a freshly built, not yet attached model; step 0 is committed."""
    shared = memory.named_parameters()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            shared[name].copy_(parameter)
        for name, buffer in model.named_buffers():
            memory.buffers()[name].copy_(buffer)
        rule, length = elementwise(optimizer), memory.layout.shapes.length
        for k, value in enumerate(rule.initial if rule else ()):
            if value:  # fresh memory is zero, and takes no place until it is written
                memory.state[k * length : (k + 1) * length].fill_(value)
    memory.header[Header.READY] = 1


def restore(memory: Memory, checkpoint: Reader) -> None:
    """Fill the state from a checkpoint of the same job; its step is committed."""
    step = checkpoint.step
    for section in sections(memory.layout, step):
        place = memory.arena.bytes_at(section["offset"], section["bytes"])
        try:
            checkpoint.read_into(section["name"], place)
        except KeyError:
            raise CheckpointError(
                f"the checkpoint of step {step} has no '{section['name']}': it was written by another model; "
                "resume with the model's code as it was"
            ) from None
        reached("section.restored")
    for index in range(len(memory.layout.shapes.pieces)):
        memory.done[index] = step
    memory.done[len(memory.layout.shapes.pieces)] = 2 * step
    memory.header[Header.COMMITTED] = step
    memory.header[Header.READY] = step + 1


def sections(layout: Layout, step: int) -> list[dict[str, Any]]:
    """The named tensors of a checkpoint and where their bytes lie in the arena; plain data, ready for JSON."""
    shapes, at = layout.shapes, layout.at
    found = [_section(f"model.{e.name}", e, at["parameters"] + 4 * e.offset) for e in shapes.trainable]
    found += [_section(f"model.{e.name}", e, at["frozen"] + 4 * e.offset) for e in shapes.frozen]
    found += [_section(f"model.{e.name}", e, at["buffers"] + e.offset) for e in shapes.buffers]
    for owner, states in zip(shapes.trainable, shapes.states, strict=True):
        found += [_section(f"optimizer.{e.name}.{owner.name}", e, at["state"] + 4 * e.offset) for e in states]
    history = Entry("history", (step, len(HISTORY)), 0, step * len(HISTORY), "float64")
    return [*found, _section("history", history, at["history"])]


def summary(layout: Layout) -> dict[str, Any]:
    """What the captain's side must know of the layout; it imports no torch."""
    return {
        "size": layout.size,
        "digest": layout.digest,
        "parameters": layout.shapes.parameter_count,
        "resident_bytes": layout.resident_bytes,
        "slot_bytes": layout.slot_bytes,
        "steps": layout.room.steps,
        "seats": layout.at["seats"],
        "num_seats": layout.room.seats,
        "history": layout.at["history"],
        "times": layout.at["times"],
        "shadow": layout.at["shadow"],
        "shadow_distance": layout.at["shadow"] - layout.at["parameters"],
        "shadow_bytes": layout.at["total"] - layout.at["shadow"],
        "sections": sections(layout, 0),
    }


def _section(name: str, entry: Entry, offset: int) -> dict[str, Any]:
    dtype = _TYPES[entry.dtype]
    return {
        "name": name,
        "dtype": dtype,
        "shape": list(entry.shape),
        "offset": offset,
        "bytes": entry.size * _SIZES[dtype],
    }
