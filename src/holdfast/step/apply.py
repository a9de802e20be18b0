"""The second half of a step: partials are added along the tree, and each piece is updated behind an undo log.

A piece is saved, marked, updated in place, and counted as done, in this order; a rule that saves by itself does so a
stretch at a time, behind the mark. Whoever dies between two of these leaves a state from which `mend` restores the
piece, and anybody can do it again: the sum is a function of the partials, which stay as they are until the whole step
is done.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from holdfast.errors import RunError
from holdfast.job import Job, TorchOptimizer
from holdfast.planes.words import fence
from holdfast.step.memory import Memory
from holdfast.step.places import Seat
from holdfast.step.rules import STRETCH, Array, Gradient, Log, Moment, elementwise
from holdfast.step.schedule import factor
from holdfast.step.tree import Node, sum_order
from holdfast.step.whole import WholeTensor

_IN_SHADOW = 1 << 63
_PIECE_BITS = 22
_ALL = 1 << 62
_ELEMENTS = 1 << 32


class Applier:
    """Updates pieces in one process, saving each in the process's own seat."""

    def __init__(self, memory: Memory, job: Job, seat: int, steps: int) -> None:
        self._memory = memory
        self._job = job
        self._steps = steps
        self._layout = memory.layout
        self._undo_cell = memory.seat_cell(seat, Seat.UNDO)
        self._saved_cell = memory.seat_cell(seat, Seat.SAVED)
        self._seat = seat
        self._copies: dict[tuple[int, bool], list[tuple[memoryview, memoryview]]] = {}
        self._arrays: dict[tuple[int, bool], tuple[list[Array], Log]] = {}
        self._rule = elementwise(job.optimizer)
        self._whole = _whole(job)
        largest, depth = self._layout.shapes.largest_piece, job.train.replicas.bit_length() + 1
        self._scratch = [torch.empty(largest) for _ in range(depth)]
        self._plan: list[int | None] = []
        self._samples = 1

    def follow(self, job: Job) -> None:
        """Update as this job says from now on; it differs from the last one in nothing that memory is laid out by."""
        self._job = job
        self._rule = elementwise(job.optimizer)
        self._whole = _whole(job)

    def plan(self, partials: Mapping[Node, int], samples: int) -> None:
        """Fix the partials of the step to come, by slot; they must hold every replica once.

        They are sums divided by the step's `samples`, so a loss that counts samples needs no other division.
        """
        self._samples = samples
        order = sum_order(Node(0, self._job.train.replicas), partials)
        self._plan = [None if node is None else partials[node] for node in order]

    def statistics(self) -> tuple[float, float]:
        """The sum of losses and the count of what they were summed over."""
        total = _fold([self._memory.slot(s).stats if s is not None else None for s in self._plan])[0]
        if total[1] == 0:
            raise RunError("no target of this step counts towards the loss, so there is nothing to learn from it")
        return total[0].item(), total[1].item()

    def measure(self, pieces: Sequence[int], count: float) -> None:
        """Form the whole gradient of these pieces and their norms; must precede `apply` when a norm is clipped."""
        norms = self._memory.norms
        for index in pieces:
            total = self._memory.total[index].copy_(self._gradient(index, count))
            norms[index] = torch.linalg.vector_norm(total).double()

    def norm(self) -> float:
        """The norm of the whole gradient, summed exactly, so in no order at all."""
        return math.sqrt(math.fsum(norm * norm for norm in self._memory.norms.tolist()))

    def apply(self, step: int, pieces: Iterable[int], count: float, norm: float | None, keep: bool) -> None:
        """Bring these pieces from `step` to the next; `keep` saves the old values in the shadow for a checkpoint."""
        scale = self._clip_scale(norm)
        moments = self._moments(step)
        shapes, done = self._layout.shapes.pieces, self._memory.done
        for index in pieces:
            self._apply_piece(step, index, count, scale, keep, moments[shapes[index].group])
            fence("piece.updated")
            done[index] = step + 1
            fence("piece.done")
            self._memory.seats[self._undo_cell] = 0

    def learning_rate(self, step: int) -> float:
        return self._job.optimizer.lr * factor(self._job.schedule, step, self._steps)

    def finish_buffers(self, step: int, count: float, keep: bool) -> None:
        """Bring the buffers to the next step; one worker does it, in stages that it or another may do again."""
        done, cell = self._memory.done, len(self._layout.shapes.pieces)
        if done[cell] < 2 * step + 1:
            if keep:
                self._memory.keep_buffers()
            self._prepare_buffers(count)
            fence("buffers.prepared")
            done[cell] = 2 * step + 1
        if done[cell] < 2 * step + 2:
            self._adopt_buffers()
            fence("buffers.adopted")
            done[cell] = 2 * step + 2

    def _prepare_buffers(self, count: float) -> None:
        if not self._layout.shapes.buffers:
            return
        slots = [self._memory.slot(s) if s is not None else None for s in self._plan]
        deltas = _fold([slot.deltas if slot is not None else None for slot in slots])[0]
        integers = next(slot.integers for slot in slots if slot is not None)
        old, new = self._memory.buffers(), self._memory.buffers("next_buffers")
        at = 0
        for entry in self._layout.shapes.buffers:
            if old[entry.name].is_floating_point():
                delta = deltas[at : at + entry.size].view(entry.shape) / count
                new[entry.name].copy_(old[entry.name].double() + delta)
                at += entry.size
            elif entry.size:
                raw = new[entry.name].view(-1).view(torch.uint8)
                raw.copy_(integers[entry.offset : entry.offset + len(raw)])

    def _adopt_buffers(self) -> None:
        new = self._memory.buffers("next_buffers")
        for name, buffer in self._memory.buffers().items():
            buffer.copy_(new[name])

    def _apply_piece(
        self, step: int, index: int, count: float, scale: float | None, keep: bool, moment: Moment
    ) -> None:
        if self._rule is None or self._rule.saving_update is None:
            gradient = self._ready_gradient(index, count, scale)
            self._save(step, index, keep)
            self._update(index, gradient, moment)
        else:
            parts = self._gradient_in_parts(index, count, scale)
            self._mark(step, index, keep, saved=0)
            self._update_and_save(index, parts, keep, moment, begun(self._memory, step, index))

    def _gradient(self, index: int, count: float) -> Tensor:
        """The mean gradient of a piece; it may be the only partial itself, which must not be changed."""
        total = _fold(self._partials(index), self._scratch)[0]
        if count == self._samples:
            return total
        return torch.mul(total, self._samples / count, out=self._scratch[0][: len(total)])

    def _gradient_in_parts(self, index: int, count: float, scale: float | None) -> Gradient:
        """The same, ready for the update, with the last passes over it left to the rule."""
        if self._job.train.clip_value is not None:
            return Gradient([self._ready_gradient(index, count, scale).numpy()])
        if scale is not None:
            return Gradient([self._memory.total[index].numpy()], scale)
        partials = self._partials(index)
        parts = _fold(partials[:-1] if len(partials) > 1 else partials, self._scratch)
        return Gradient([part.numpy() for part in parts], self._samples / count)

    def _partials(self, index: int) -> list[Tensor | None]:
        return [self._memory.slot_pieces(s)[index] if s is not None else None for s in self._plan]

    def _ready_gradient(self, index: int, count: float, scale: float | None) -> Tensor:
        limit = self._job.train.clip_value
        if scale is None:
            gradient = self._gradient(index, count)
        else:
            total = self._memory.total[index]
            gradient = torch.mul(total, scale, out=self._scratch[0][: len(total)])
        if limit is None:
            return gradient
        return torch.clamp(gradient, -limit, limit, out=self._scratch[0][: len(gradient)])

    def _clip_scale(self, norm: float | None) -> float | None:
        if norm is None:
            return None
        limit = self._job.train.clip_norm or math.inf
        if not math.isfinite(norm):
            raise RunError(f"the norm of the gradient is {norm}, so training stopped before this step changed anything")
        return min(1.0, limit / (norm + 1e-6))

    def _moments(self, step: int) -> list[Moment]:
        """Per group; the first is that of all parameters that no group matches."""
        optimizer, lr = self._job.optimizer, self.learning_rate(step)
        own = [Moment(step + 1, lr, optimizer.weight_decay)]
        return own + [
            Moment(
                step + 1,
                lr * group.lr_scale,
                optimizer.weight_decay if group.weight_decay is None else group.weight_decay,
            )
            for group in optimizer.groups
        ]

    def _save(self, step: int, index: int, keep: bool) -> None:
        for place, part in self._copies_of(index, keep):
            place[:] = part
        fence("piece.copied")
        self._mark(step, index, keep, saved=_ALL)

    def _mark(self, step: int, index: int, keep: bool, saved: int) -> None:
        seats, mark = self._memory.seats, step + 1 << _PIECE_BITS | index
        seats[self._saved_cell] = saved
        fence("piece.unmarked")
        seats[self._undo_cell] = mark | _IN_SHADOW if keep else mark
        fence("piece.marked")

    def _copies_of(self, index: int, keep: bool) -> list[tuple[memoryview, memoryview]]:
        """Where each part of a piece is saved; found out once, since a step has time for little else."""
        if (index, keep) not in self._copies:
            parts = self._memory.piece_bytes(index)
            places = self._memory.shadow_bytes(index) if keep else self._memory.undo_bytes(self._seat, index)
            self._copies[index, keep] = list(zip(places, parts, strict=True))
        return self._copies[index, keep]

    def _update(self, index: int, gradient: Tensor, moment: Moment) -> None:
        views, piece = self._memory.pieces[index], self._layout.shapes.pieces[index]
        if self._rule is not None and self._rule.update is not None:
            self._rule.update(views.parameters, gradient, views.state, moment)
        elif self._whole is not None and piece.entry is not None:
            shapes = self._layout.shapes
            entries = shapes.states[piece.entry]
            state = {e.name: v.view(e.shape) for e, v in zip(entries, views.state, strict=True)}
            shape = shapes.trainable[piece.entry].shape
            # These are torch's own optimizers or a user's, which may change the gradient that they are given.
            self._whole.update(views.parameters.view(shape), gradient.clone().view(shape), state, moment)

    def _update_and_save(self, index: int, gradient: Gradient, keep: bool, moment: Moment, begin: int) -> None:
        assert self._rule is not None
        assert self._rule.saving_update is not None
        (parameters, *state), log = self._arrays_of(index, keep)
        self._rule.saving_update(parameters, gradient, state, replace(log, begin=begin) if begin else log, moment)

    def _arrays_of(self, index: int, keep: bool) -> tuple[list[Array], Log]:
        """A piece, and where it is saved, as a rule that saves by itself takes them."""
        if (index, keep) not in self._arrays:
            memory = self._memory
            places = memory.shadow_bytes(index) if keep else memory.undo_bytes(self._seat, index, 4 * STRETCH)
            old, *old_state = (np.frombuffer(place, np.float32) for place in places)
            live = [np.frombuffer(part, np.float32) for part in memory.piece_bytes(index)]
            saved = np.frombuffer(self._memory.seat_bytes(self._seat, Seat.SAVED), np.uint64)
            self._arrays[index, keep] = live, Log(old, old_state, saved)
        return self._arrays[index, keep]


def _fold(plan: Sequence[Tensor | None], scratch: Sequence[Tensor] = ()) -> list[Tensor]:
    """Run a program of `sum_order`: a tensor is pushed, None adds the top two."""
    stack: list[Tensor] = []
    for item in plan:
        if item is not None:
            stack.append(item)
            continue
        right, left = stack.pop(), stack.pop()
        out = scratch[len(stack)][: len(left)] if scratch else torch.empty_like(left)
        stack.append(torch.add(left, right, out=out))
    return stack


def mend(memory: Memory) -> int:
    """Restore what dead workers left half updated; returns how many pieces that were.

    Called by one worker while all others rest. It may die, and another may do it again.
    """
    mended = 0
    for seat in range(memory.layout.room.seats):
        cell = memory.seat_cell(seat, Seat.UNDO)
        word = memory.seats[cell]
        if word == 0:
            continue
        mark, from_shadow = word & ~_IN_SHADOW, bool(word & _IN_SHADOW)
        index = mark & (1 << _PIECE_BITS) - 1
        if memory.done[index] != mark >> _PIECE_BITS:
            _restore(memory, seat, mark, from_shadow)
            mended += 1
        fence("piece.mended")
        memory.seats[cell] = 0
    return mended


def step_of(memory: Memory) -> int:
    """The step that is being worked on: the first that not all pieces have been through."""
    *pieces, buffers = memory.done.tolist()[: len(memory.layout.shapes.pieces) + 1]
    return min(*pieces, buffers // 2)


def begun(memory: Memory, step: int, index: int) -> int:
    """How many elements of a piece that was torn and mended have been through the step already."""
    tag, elements = divmod(memory.begun[index], _ELEMENTS)
    return elements if tag == step + 1 else 0


def _restore(memory: Memory, seat: int, mark: int, from_shadow: bool) -> None:
    """Bring back the old values of what is torn: a whole piece, or the one stretch of it that `saved` ends."""
    tag, index = divmod(mark, 1 << _PIECE_BITS)
    saved = memory.seats[memory.seat_cell(seat, Seat.SAVED)]
    start = 0 if saved in (0, _ALL) else (saved - 1) // STRETCH * STRETCH
    if from_shadow:
        places = [place[4 * start :] for place in memory.shadow_bytes(index)]
    else:
        places = memory.undo_bytes(seat, index, None if saved == _ALL else 4 * STRETCH)
    for place, part in zip(places, memory.piece_bytes(index), strict=True):
        part[4 * start : 4 * saved] = place[: 4 * (saved - start)]
    if start:
        fence("stretch.restored")
        memory.begun[index] = tag * _ELEMENTS + start


def _whole(job: Job) -> WholeTensor | None:
    return WholeTensor(job.optimizer, Path(job.base_dir)) if isinstance(job.optimizer, TorchOptimizer) else None
