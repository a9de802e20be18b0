"""The shared memory of a run, seen as tensors and words. One object per process; it owns no state of its own."""

from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from holdfast.planes.arena import Arena
from holdfast.planes.words import Words, words_of
from holdfast.step.layout import STATS, Entry, Layout, piece_states
from holdfast.step.places import HISTORY, SEAT_WORDS
from holdfast.step.tree import Node


class Slot(NamedTuple):
    """A partial: the sums over a node, of gradients by the step's samples, of its buffers' changes, of statistics."""

    gradient: Tensor
    deltas: Tensor
    stats: Tensor
    integers: Tensor


class PieceViews(NamedTuple):
    """The live values of a piece."""

    parameters: Tensor
    state: list[Tensor]


class Memory:
    def __init__(self, arena: Arena, layout: Layout) -> None:
        self.arena = arena
        self.layout = layout
        self._slots: dict[int, Slot] = {}
        self._slot_pieces: dict[int, list[Tensor]] = {}

    @cached_property
    def header(self) -> Words:
        return self._words("header", "table")

    @cached_property
    def table(self) -> Words:
        return self._words("table", "seats")

    @cached_property
    def seats(self) -> Words:
        return self._words("seats", "done")

    @cached_property
    def done(self) -> Words:
        """Per piece 1 + the last step that it has been through; behind them the stages of the buffers, two a step."""
        return self._words("done", "begun")

    @cached_property
    def begun(self) -> Words:
        """Per piece that was torn: the step it is in, and how many of its elements are through; see `mend`."""
        return self._words("begun", "norms")

    @cached_property
    def chunks(self) -> Words:
        return self._words("chunks", "evidence")

    @cached_property
    def norms(self) -> Tensor:
        return self._tensor("norms", torch.float64, len(self.layout.shapes.pieces))

    @cached_property
    def evidence(self) -> Tensor:
        room = self.layout.room
        flat = self._tensor("evidence", torch.float64, room.evidence_rows * room.evidence_width)
        return flat.view(room.evidence_rows, -1)

    @cached_property
    def history(self) -> Tensor:
        steps = self.layout.room.steps
        return self._tensor("history", torch.float64, steps * len(HISTORY)).view(steps, len(HISTORY))

    @cached_property
    def times(self) -> Tensor:
        """When each step was committed, by the machine's monotonic clock; told to people, never computed with."""
        return self._tensor("times", torch.float64, self.layout.room.steps)

    @cached_property
    def parameters(self) -> Tensor:
        return self._tensor("parameters", torch.float32, self.layout.shapes.length)

    @cached_property
    def state(self) -> Tensor:
        return self._tensor("state", torch.float32, self.layout.shapes.state_length)

    @cached_property
    def frozen(self) -> Tensor:
        return self._tensor("frozen", torch.float32, self.layout.shapes.frozen_length)

    @cached_property
    def total(self) -> list[Tensor]:
        """The whole gradient, by piece; there only when a norm is clipped."""
        return self._by_piece(self._tensor("total", torch.float32, self.layout.shapes.length))

    def named_parameters(self) -> dict[str, Tensor]:
        shapes = self.layout.shapes
        return {
            entry.name: _view(flat, entry)
            for flat, entries in ((self.parameters, shapes.trainable), (self.frozen, shapes.frozen))
            for entry in entries
        }

    def buffers(self, section: str = "buffers") -> dict[str, Tensor]:
        """The model's buffers as committed, or as the next step will have them ("next_buffers")."""
        return {
            entry.name: self._at(self.layout.at[section] + entry.offset, getattr(torch, entry.dtype), entry.size).view(
                entry.shape
            )
            for entry in self.layout.shapes.buffers
        }

    def keep_buffers(self) -> None:
        """Copy the committed buffers to the shadow."""
        at, size = self.layout.at, self.layout.shapes.buffer_bytes
        kept = self._at(at["shadow"] + at["buffers"] - at["parameters"], torch.uint8, size)
        kept.copy_(self._at(at["buffers"], torch.uint8, size))

    def slot(self, index: int) -> Slot:
        if index not in self._slots:
            shapes, start = self.layout.shapes, self.layout.at["slots"] + index * self.layout.slot_bytes
            after = start + 4 * shapes.length
            behind = after + 8 * shapes.float_buffer_length
            self._slots[index] = Slot(
                self._at(start, torch.float32, shapes.length),
                self._at(after, torch.float64, shapes.float_buffer_length),
                self._at(behind, torch.float64, STATS),
                self._at(behind + 8 * STATS, torch.uint8, shapes.buffer_bytes),
            )
        return self._slots[index]

    def slot_pieces(self, index: int) -> list[Tensor]:
        if index not in self._slot_pieces:
            self._slot_pieces[index] = self._by_piece(self.slot(index).gradient)
        return self._slot_pieces[index]

    @cached_property
    def pieces(self) -> list[PieceViews]:
        return [
            PieceViews(
                self.parameters[piece.start : piece.stop],
                [self.state[start:stop] for start, stop in piece_states(self.layout.shapes, piece)],
            )
            for piece in self.layout.shapes.pieces
        ]

    def piece_bytes(self, index: int) -> list[memoryview]:
        """The parameters of a piece and its state, as bytes to be copied: faster than tensors, which ask for types."""
        return self._piece_bytes(index, 0)

    def shadow_bytes(self, index: int) -> list[memoryview]:
        """Where the shadow keeps the same."""
        return self._piece_bytes(index, self.layout.at["shadow"] - self.layout.at["parameters"])

    def undo_bytes(self, seat: int, index: int, limit: int | None = None) -> list[memoryview]:
        """Where the seat's undo log keeps the same, or at most `limit` bytes of each: neighbours, as caches like it."""
        start, places = self.layout.at["undo"] + seat * self.layout.undo_bytes, []
        for part in self.piece_bytes(index):
            size = len(part) if limit is None else min(limit, len(part))
            places.append(self.arena.bytes_at(start, size))
            start += size
        return places

    def _piece_bytes(self, index: int, distance: int) -> list[memoryview]:
        shapes, at = self.layout.shapes, self.layout.at
        piece = shapes.pieces[index]
        stretches = [("parameters", piece.start, piece.stop)]
        stretches += [("state", start, stop) for start, stop in piece_states(shapes, piece)]
        return [
            self.arena.bytes_at(at[section] + distance + 4 * start, 4 * (stop - start))
            for section, start, stop in stretches
        ]

    def seat_cell(self, seat: int, place: int) -> int:
        return seat * SEAT_WORDS + place

    def seat_bytes(self, seat: int, place: int) -> memoryview:
        """A seat's word, for who must write it without Python."""
        return self.arena.bytes_at(self.layout.at["seats"] + 8 * self.seat_cell(seat, place), 8)

    # The table says which partials of a step exist, and in which slot each lies. A word is one store, so a node is
    # either there or not, whenever its owner dies.

    def publish(self, step: int, node: Node, slot: int) -> None:
        self.table[node.low] = (step + 1 & 0xFFFFFFF) << 36 | node.size << 22 | slot

    def withdraw(self, low: int) -> None:
        self.table[low] = 0

    def published(self, step: int) -> dict[Node, int]:
        """The nodes of the step that are there, with their slots."""
        tag = step + 1 & 0xFFFFFFF
        return {
            Node(low, word >> 22 & 0x3FFF): word & 0x3FFFFF
            for low, word in enumerate(self.table.tolist())
            if word >> 36 == tag
        }

    def _by_piece(self, flat: Tensor) -> list[Tensor]:
        return [flat[piece.start : piece.stop] for piece in self.layout.shapes.pieces]

    def _words(self, section: str, following: str) -> Words:
        at = self.layout.at
        return words_of(self.arena.bytes_at(at[section], at[following] - at[section]))

    def _tensor(self, section: str, dtype: torch.dtype, count: int) -> Tensor:
        return self._at(self.layout.at[section], dtype, count)

    def _at(self, offset: int, dtype: torch.dtype, count: int) -> Tensor:
        if count == 0:
            return torch.empty(0, dtype=dtype)
        return torch.frombuffer(self.arena.buffer, dtype=dtype, count=count, offset=offset)


def _view(flat: Tensor, entry: Entry) -> Tensor:
    return flat[entry.offset : entry.offset + entry.size].view(entry.shape)
