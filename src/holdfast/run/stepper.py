"""A worker's way through the steps under one view: gather, apply, commit, and measure.

Members meet only in shared memory. Everything that a member must know to go on is there, so after any change of the
crew each begins at the top of the loop and finds by itself how far the step has come.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from holdfast.faults import reached
from holdfast.ledger.checkpoints import Reader
from holdfast.planes.arena import give_back_freed_memory
from holdfast.planes.words import fence, wait_until
from holdfast.run.changes import Changes
from holdfast.run.gathering import Gathering, cover, replicas_in
from holdfast.run.view import EPOCH_BITS, View, newest_epoch
from holdfast.run.work import Work
from holdfast.step.apply import Applier, mend, step_of
from holdfast.step.gradients import Sink
from holdfast.step.memory import Memory
from holdfast.step.places import Header, Seat
from holdfast.step.replica import ReplicaWork
from holdfast.step.routes import shorten
from holdfast.step.state import attach, begin, restore

Outcome = Literal["interrupted", "finished", "stopped"]
_STOP, _SNAPSHOT = 1, 2
_BITS, _ORDER_BITS = 8, 24
_PLACE_BITS = 64 - EPOCH_BITS
_PHASES = 8
_EVALUATED, _GATHERED, _MEASURED, _APPLIED = 1, 2, 3, 4
_HEARTBEAT_S = 0.25


class Interrupted(Exception):
    """A newer view was proposed; everything is at a safe point."""


class Tools:
    """What a worker computes with, made once for its whole life."""

    def __init__(self, work: Work, memory: Memory, checkpoint: str, changes: Changes) -> None:
        self.work = work
        self.memory = memory
        self.changes = changes
        self.evaluation = work.evaluation
        self._checkpoint = checkpoint
        self._attached = False
        self.sink = Sink(work.model, memory)
        shorten(work.model, self.sink, work.job.train.precision)
        self.replica = ReplicaWork(work.model, work.loss, work.dataset.train, work.job.train, memory, self.sink)

    def prepare(self) -> None:
        """Fill the state at the beginning of a run; only the leader does."""
        if self._checkpoint:
            with Reader(Path(self._checkpoint)) as reader:
                restore(self.memory, reader)
        else:
            begin(self.work.model, self.memory, self.work.job.optimizer)

    def attach(self) -> None:
        """Let go of the model's first weights; from now on it is a view of the shared ones."""
        if not self._attached:
            attach(self.work.model, self.memory)
            give_back_freed_memory()
            self._attached = True


class Stepper:
    """Steps for one worker in one seat. `heartbeat` is called now and then at safe points, and may raise."""

    def __init__(
        self, tools: Tools, seat: int, report: Callable[[dict[str, Any]], None], heartbeat: Callable[[], None]
    ) -> None:
        self._tools = tools
        self._job = tools.work.job
        self._steps = tools.work.steps
        self._memory = tools.memory
        self._seat = seat
        self._report = report
        self._heartbeat = heartbeat
        self._heard_at = time.monotonic()
        self._applier = Applier(tools.memory, self._job, seat, self._steps)
        self._gathering = Gathering(tools.memory, tools.replica, tools.sink, seat, self._pause)
        self._piece_count = len(tools.memory.layout.shapes.pieces)
        self._clips = self._job.train.clip_norm is not None
        self._changes = 0
        self._view = View(0, ())
        self._rank = 0

    def run(self, view: View, worker: int) -> Outcome:
        """Step until the end, an order to stop, or a newer view."""
        self._view, self._rank = view, view.ranks[worker]
        self._set(Seat.ARRIVED, view.epoch << _PLACE_BITS)
        self._set(Seat.WAITING, 0)
        try:
            return self._run()
        except Interrupted:
            return "interrupted"
        finally:
            self._set(Seat.WAITING, 1)
            self._set(Seat.COMPUTING, 0)

    def _run(self) -> Outcome:
        self._enter()
        step = step_of(self._memory)
        while True:
            self._evaluate_if_due(step)
            if step >= self._steps:
                return "finished"
            self._set(Seat.STEP, step)
            stop = self._step(step)
            step += 1
            if stop:
                return "stopped"

    def _enter(self) -> None:
        """The leader prepares or mends the state while the others wait."""
        self._pause()  # what was committed may be of the past already
        header = self._memory.header
        if self._leads:
            if not self._is_prepared():
                self._tools.prepare()
                reached("state.prepared")
            header[Header.TORN] = mend(self._memory)
            step = step_of(self._memory)
            header[Header.ENTERED] = step
            header[Header.KEPT] = len(replicas_in(self._memory.published(step)))
            self._mark_committed(step)
            fence("state.mended")
            header[Header.MENDED] = self._view.epoch
        self._wait(lambda: header[Header.MENDED] == self._view.epoch)
        self._tools.attach()

    def _step(self, step: int) -> bool:
        """Bring the model from `step` to the next; True if it is the last one by order."""
        memory, applier = self._memory, self._applier
        self._gathering.gather(step, self._view.replicas(self._job.train.replicas, self._rank))
        if self._leads:
            self._give_orders(step)
        self._meet(step, _GATHERED)
        orders = self._heed_orders()
        applier.plan(cover(memory, step), self._tools.replica.order.count(step))
        total, count = applier.statistics()
        norm = self._whole_norm(step, count)
        applier.apply(step, self._own_pieces(step), count, norm, keep=bool(orders & _SNAPSHOT))
        if self._leads:
            # The buffers' mark may complete the step, so what belongs to the step comes before it.
            self._note(step, total, count, norm)
            reached("step.noted")
            applier.finish_buffers(step, count, keep=bool(orders & _SNAPSHOT))
        self._meet(step, _APPLIED)
        if self._leads:
            self._commit(step, orders)
        return bool(orders & _STOP)

    def _whole_norm(self, step: int, count: float) -> float | None:
        if not self._clips:
            return None
        self._applier.measure(self._view.share(self._piece_count, self._rank), count)
        self._meet(step, _MEASURED)
        return self._applier.norm()

    def _own_pieces(self, step: int) -> Iterator[int]:
        """This member's pieces that have not been through the step; between two of them it may be interrupted."""
        done = self._memory.done
        for index in self._view.share(self._piece_count, self._rank):
            if done[index] != step + 1:
                self._pause()
                yield index

    def _give_orders(self, step: int) -> None:
        """Fix what is special about the step, before anybody can be past its gathering; never twice."""
        header = self._memory.header
        if header[Header.ORDERS] >> _ORDER_BITS == step + 1:
            return
        bits = _STOP if header[Header.WISH_STOP] or step + 1 == header[Header.STOP_AT] else 0
        if self._snapshot_is_due(step):
            bits |= _SNAPSHOT
            header[Header.SERVED_SNAPSHOT] = header[Header.WISH_SNAPSHOT]
        changes = self._tools.changes.holding(step, header[Header.WISH_CHANGES])
        header[Header.ORDERS] = step + 1 << _ORDER_BITS | changes << _BITS | bits
        fence("orders.given")

    def _heed_orders(self) -> int:
        """What is special about the step; from here on the job is as the changes that hold in it leave it."""
        orders = self._memory.header[Header.ORDERS] & (1 << _ORDER_BITS) - 1
        changes, bits = divmod(orders, 1 << _BITS)
        if changes != self._changes:
            self._changes = changes
            self._applier.follow(self._tools.changes.job(self._job, changes))
        return bits

    def _snapshot_is_due(self, step: int) -> bool:
        header = self._memory.header
        if header[Header.SHADOW_FULL] != header[Header.SHADOW_SAVED] or step == 0:
            return False
        every = self._job.checkpoint.every_steps
        last = max(header[Header.SHADOW_FULL], header[Header.READY], 1) - 1
        regular = every is not None and step // every > last // every
        return regular or header[Header.WISH_SNAPSHOT] != header[Header.SERVED_SNAPSHOT]

    def _note(self, step: int, total: float, count: float, norm: float | None) -> None:
        row = self._memory.history[step]
        row[0], row[1] = total / count, self._tools.replica.order.count(step)
        row[2], row[3] = norm or 0.0, self._applier.learning_rate(step)

    def _commit(self, step: int, orders: int) -> None:
        header = self._memory.header
        self._mark_committed(step + 1)
        if orders & _SNAPSHOT:
            fence("step.marked")
            header[Header.SHADOW_FULL] = step + 1
        reached("step.committed")

    def _mark_committed(self, steps: int) -> None:
        """Tell the captain's side; a leader that died before it could is made good for by the next."""
        if self._memory.header[Header.COMMITTED] < steps:
            self._memory.times[steps - 1] = time.monotonic()
            self._memory.header[Header.COMMITTED] = steps

    def _evaluate_if_due(self, step: int) -> None:
        evaluation, memory = self._tools.evaluation, self._memory
        if not evaluation.is_due(step, self._steps) or memory.header[Header.EVALUATED] == step + 1:
            return
        for chunk in self._view.share(memory.layout.room.evidence_chunks, self._rank):
            if memory.chunks[chunk] != step + 1:
                self._pause()
                evaluation.fill(memory, chunk)
                fence("chunk.evaluated")
                memory.chunks[chunk] = step + 1
                self._set(Seat.BEATS, self._get(Seat.BEATS) + 1)
        self._meet(step, _EVALUATED)
        if self._leads:
            self._report({"kind": "evaluated", "step": step, "metrics": evaluation.metrics(memory)})
            reached("metrics.reported")
            memory.header[Header.EVALUATED] = step + 1
        self._wait(lambda: memory.header[Header.EVALUATED] == step + 1)

    def _meet(self, step: int, phase: int) -> None:
        """Wait for all members to come this far under this view."""
        target = self._view.epoch << _PLACE_BITS | step * _PHASES + phase
        limit = self._view.epoch + 1 << _PLACE_BITS
        self._set(Seat.ARRIVED, target)
        seats = self._memory.seats
        cells = [self._memory.seat_cell(seat, Seat.ARRIVED) for seat in self._view.seats]
        self._wait(lambda: all(target <= seats[cell] < limit for cell in cells))

    def _wait(self, reached: Callable[[], bool]) -> None:
        fence("meeting.reached")
        self._set(Seat.WAITING, 1)
        while not wait_until(reached, self._is_outdated, _HEARTBEAT_S):
            self._pause()
        fence("meeting.over")
        self._set(Seat.WAITING, 0)

    def _pause(self) -> None:
        """A safe point: nothing is half done except what is published as such."""
        if self._is_outdated():
            raise Interrupted
        now = time.monotonic()
        if now - self._heard_at > _HEARTBEAT_S:
            self._heard_at = now
            self._heartbeat()

    def _is_outdated(self) -> bool:
        newest = newest_epoch(self._memory.header)
        return newest is not None and newest != self._view.epoch

    def _is_prepared(self) -> bool:
        return bool(self._memory.header[Header.READY])

    @property
    def _leads(self) -> bool:
        return self._rank == 0

    def _set(self, place: int, value: int) -> None:
        self._memory.seats[self._memory.seat_cell(self._seat, place)] = value

    def _get(self, place: int) -> int:
        return int(self._memory.seats[self._memory.seat_cell(self._seat, place)])
