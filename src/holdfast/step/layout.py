"""Where everything lies in the shared memory of a run: a pure function of the job and the model's shapes.

Parameters stand in one flat buffer, each aligned to 64 bytes, those of one optimizer group together, and each group
filled up to whole blocks. Work is divided between workers by whole pieces (blocks, or tensors for the optimizers that
need them), so no element ever changes its place in a vector loop.
"""

import fnmatch
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from holdfast.errors import ModelError
from holdfast.job import AnyOptimizer
from holdfast.step.places import HEADER_WORDS, HISTORY, SEAT_WORDS

BLOCK = 1 << 18
"""Elements of a block: a part of the promise, since it says where vector loops begin."""
_ALIGN = 16
_PAGE = 4096
_HUGE = 1 << 21
STATS = 2


@dataclass(frozen=True)
class Entry:
    """A tensor and its place: `offset` in elements of its buffer, or in bytes for those of mixed types."""

    name: str
    shape: tuple[int, ...]
    offset: int
    size: int
    dtype: str = "float32"
    group: int = 0


@dataclass(frozen=True)
class Piece:
    """A stretch of the flat buffer that one worker updates at once; `entry` names the tensor of a whole-tensor rule."""

    start: int
    stop: int
    group: int
    entry: int | None = None


@dataclass(frozen=True)
class Shapes:
    """What the model and the optimizer need, before it is known how many may work on it."""

    trainable: tuple[Entry, ...]
    frozen: tuple[Entry, ...]
    buffers: tuple[Entry, ...]
    states: tuple[tuple[Entry, ...], ...]
    pieces: tuple[Piece, ...]
    length: int
    frozen_length: int
    buffer_bytes: int
    state_length: int

    @property
    def parameter_count(self) -> int:
        return sum(entry.size for entry in (*self.trainable, *self.frozen))

    @property
    def float_buffer_length(self) -> int:
        return sum(entry.size for entry in self.buffers if _is_float(entry))

    @property
    def largest_piece(self) -> int:
        return max(piece.stop - piece.start for piece in self.pieces)


@dataclass(frozen=True)
class Room:
    """What else decides the size: the length of the run, and how many may work at once."""

    replicas: int
    steps: int
    keeps_total: bool
    evidence_rows: int = 0
    evidence_width: int = 0
    evidence_chunk: int = 1

    @property
    def seats(self) -> int:
        return self.replicas + 2

    @property
    def slots_per_seat(self) -> int:
        return self.replicas if self.replicas <= 64 else 8 * self.replicas.bit_length()

    @property
    def evidence_chunks(self) -> int:
        return -(-self.evidence_rows // self.evidence_chunk)


@dataclass(frozen=True)
class Layout:
    """Byte offsets of all sections. Equal in every process of a run, which `digest` lets the captain check."""

    shapes: Shapes
    room: Room
    at: dict[str, int] = field(default_factory=dict)
    size: int = 0

    @property
    def slot_bytes(self) -> int:
        shapes = self.shapes
        extra = 8 * (shapes.float_buffer_length + STATS) + shapes.buffer_bytes
        return _up(4 * shapes.length + extra, _PAGE)

    @property
    def undo_bytes(self) -> int:
        """Room for the largest piece with its state; an elementwise piece has as much state as buffers."""
        return _up(4 * max(_piece_length(self.shapes, piece) for piece in self.shapes.pieces), 64)

    @property
    def persistent(self) -> tuple[str, int]:
        """The sections that a checkpoint keeps are neighbours: the first's name, and their bytes together."""
        return "parameters", self.at["shadow"] - self.at["parameters"]

    @property
    def resident_bytes(self) -> int:
        """What a run touches whatever its crew is: parameters, state, buffers, history."""
        return self.at["shadow"] + 4 * self.shapes.length * self.room.keeps_total

    @property
    def digest(self) -> str:
        plain = json.dumps([asdict(self.shapes), asdict(self.room), self.size], sort_keys=True)
        return hashlib.sha256(plain.encode()).hexdigest()[:16]


def shapes_of(model: nn.Module, optimizer: AnyOptimizer, state_slots: int, whole: Any | None) -> Shapes:
    """Lay out a model; `whole` is the whole-tensor rule, if the job uses one."""
    parameters = dict(model.named_parameters())
    for name, parameter in parameters.items():
        if parameter.dtype != torch.float32:
            raise ModelError(
                f"parameter '{name}' is {parameter.dtype}: parameters must be float32; "
                'for speed in bfloat16 set train.precision = "bf16" and leave the model in float32'
            )
    moving = {name: p for name, p in parameters.items() if p.requires_grad}
    if not moving:
        raise ModelError("the model has no parameter that requires a gradient, so there is nothing to train")
    groups = _groups(moving, optimizer)
    trainable, pieces, length = _flat(groups, whole is not None)
    frozen, frozen_length = _row((n, p) for n, p in parameters.items() if not p.requires_grad)
    buffers, buffer_bytes = _buffers(model)
    if whole is None:
        states, state_length = _mirrors(trainable, state_slots, length), state_slots * length
    else:
        states, state_length = _own_states(trainable, moving, whole)
    return Shapes(trainable, frozen, buffers, states, pieces, length, frozen_length, buffer_bytes, state_length)


def layout_of(shapes: Shapes, room: Room) -> Layout:
    """Place the sections one after the other; gradients and shadow take memory only once they are touched."""
    piece_count = len(shapes.pieces) + 1
    bare = Layout(shapes, room)
    persistent = [
        ("parameters", 4 * shapes.length),
        ("state", 4 * shapes.state_length),
        ("frozen", 4 * shapes.frozen_length),
        ("buffers", shapes.buffer_bytes),
    ]
    sections = [
        ("header", 8 * HEADER_WORDS),
        ("table", 8 * room.replicas),
        ("seats", 8 * SEAT_WORDS * room.seats),
        ("done", 8 * piece_count),
        ("begun", 8 * piece_count),
        ("norms", 8 * piece_count),
        ("chunks", 8 * room.evidence_chunks),
        ("evidence", 8 * room.evidence_rows * room.evidence_width),
        ("history", 8 * len(HISTORY) * room.steps),
        ("times", 8 * room.steps),
        ("next_buffers", shapes.buffer_bytes),
        *persistent,
    ]
    at, end = _place(sections, 0)
    state_bytes = end - at["parameters"]
    at["shadow"] = end = _up(end, _HUGE)
    at["total"] = end = _up(end + state_bytes, _HUGE)
    at["undo"] = end = _up(end + 4 * shapes.length * room.keeps_total, _PAGE)
    at["slots"] = end = _up(end + bare.undo_bytes * room.seats, _HUGE)
    end += bare.slot_bytes * room.seats * room.slots_per_seat
    return Layout(shapes, room, at, end)


def piece_states(shapes: Shapes, piece: Piece) -> list[tuple[int, int]]:
    """Where the optimizer's state of a piece lies: (start, stop) in elements of the state section."""
    if piece.entry is not None:
        return [(entry.offset, entry.offset + entry.size) for entry in shapes.states[piece.entry]]
    count = shapes.state_length // shapes.length
    return [(k * shapes.length + piece.start, k * shapes.length + piece.stop) for k in range(count)]


def group_of(name: str, optimizer: AnyOptimizer) -> int:
    """0 for the optimizer's own values, else 1 + the place of the first group that matches the name."""
    for index, group in enumerate(optimizer.groups):
        if fnmatch.fnmatchcase(name, group.match):
            return index + 1
    return 0


def _groups(moving: Mapping[str, Tensor], optimizer: AnyOptimizer) -> list[list[tuple[str, Tensor]]]:
    groups: list[list[tuple[str, Tensor]]] = [[] for _ in range(len(optimizer.groups) + 1)]
    for name, parameter in moving.items():
        groups[group_of(name, optimizer)].append((name, parameter))
    for group, members in zip(optimizer.groups, groups[1:], strict=True):
        if not members:
            raise ModelError(
                f"optimizer.groups has match = '{group.match}', which no trainable parameter is left for; "
                f"their names are like '{next(iter(moving))}'"
            )
    return groups


def _flat(
    groups: Sequence[Sequence[tuple[str, Tensor]]], by_tensor: bool
) -> tuple[tuple[Entry, ...], tuple[Piece, ...], int]:
    entries: list[Entry] = []
    pieces: list[Piece] = []
    end = 0
    for group, members in enumerate(groups):
        start = end
        for name, parameter in members:
            entries.append(Entry(name, tuple(parameter.shape), end, parameter.numel(), group=group))
            if by_tensor:
                pieces.append(Piece(end, end + parameter.numel(), group, len(entries) - 1))
            end = _up(end + parameter.numel(), _ALIGN)
        if not by_tensor:
            end = _up(end, BLOCK) if end - start > BLOCK else _up(end, 1024)
            pieces += [Piece(at, min(at + BLOCK, end), group) for at in range(start, end, BLOCK)]
    return tuple(entries), tuple(pieces), end


def _row(named: Iterable[tuple[str, Tensor]]) -> tuple[tuple[Entry, ...], int]:
    entries, end = [], 0
    for name, tensor in named:
        entries.append(Entry(name, tuple(tensor.shape), end, tensor.numel()))
        end = _up(end + tensor.numel(), _ALIGN)
    return tuple(entries), end


def _buffers(model: nn.Module) -> tuple[tuple[Entry, ...], int]:
    entries, end = [], 0
    for name, buffer in model.named_buffers():
        dtype = str(buffer.dtype).removeprefix("torch.")
        entries.append(Entry(name, tuple(buffer.shape), end, buffer.numel(), dtype))
        end = _up(end + buffer.numel() * buffer.element_size(), 64)
    return tuple(entries), end


def _mirrors(trainable: Sequence[Entry], slots: int, length: int) -> tuple[tuple[Entry, ...], ...]:
    return tuple(
        tuple(Entry(f"{k}", entry.shape, k * length + entry.offset, entry.size) for k in range(slots))
        for entry in trainable
    )


def _own_states(
    trainable: Sequence[Entry], moving: Mapping[str, Tensor], whole: Any
) -> tuple[tuple[tuple[Entry, ...], ...], int]:
    states, end = [], 0
    for entry in trainable:
        own = []
        for key, shape in whole.state_shapes(moving[entry.name]).items():
            size = torch.Size(shape).numel()
            own.append(Entry(key, shape, end, size))
            end = _up(end + size, _ALIGN)
        states.append(tuple(own))
    return tuple(states), end


def _piece_length(shapes: Shapes, piece: Piece) -> int:
    states = piece_states(shapes, piece)
    return piece.stop - piece.start + sum(stop - start for start, stop in states)


def _place(sections: Sequence[tuple[str, int]], start: int) -> tuple[dict[str, int], int]:
    at: dict[str, int] = {}
    for name, size in sections:
        at[name] = start
        start = _up(start + size, _PAGE)
    return at, start


def _is_float(entry: Entry) -> bool:
    return entry.dtype in ("float64", "float32", "float16", "bfloat16")


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
