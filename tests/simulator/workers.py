"""A worker's process, as others see it: production's duty, and a model of the stepping that it is bound to.

It does what `run/worker.py` and `run/stepper.py` do: build, hear messages at safe points, step in lockstep, come to a
safe point when there is a newer epoch in the header.
"""

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from shared import PIECES
from wire import Message

from holdfast.run import duty as d
from holdfast.run.view import EPOCH_BITS, View
from holdfast.step.places import SEAT_WORDS, Header, Seat

if TYPE_CHECKING:
    from captaincy import Captaincy
    from world import World

_PLACE_BITS = 64 - EPOCH_BITS
_GATHERED, _APPLIED = 2, 4
_PHASES = 8
REPLICA_S, PIECE_S, MEND_S = 2.0, 0.5, 0.3
"""The longest that each takes, mostly much less; but not for who is slow."""


class Worker:
    def __init__(self, world: "World", number: int) -> None:
        self.number = number
        self.alive = True
        self.hung_at: float | None = None
        self.built = False
        self.slowness = 1.0
        self.line = 0
        """Which of its lines is the present one; what was under way on those before is lost."""
        self.captaincy: Captaincy | None = None
        self.disturbed_at = -math.inf
        """When a message from it, or to it, was lost or held up."""
        self.writes_under: int | None = None
        """The epoch under which it may be changing shared memory just now."""
        self._world = world
        self._shared = world.shared
        self._duty = d.Duty(number)
        self._inbox: list[Message] = []
        self._hears = False
        self._view = View(0, ())
        self._step = 0
        self._awaits: tuple[Callable[[], bool], Callable[[], None]] | None = None
        self._ticks_at = math.inf
        self._after(world.delay(), lambda: self._decide(d.Tick()))
        self._after(world.chance.uniform(0.5, 15.0), self._build)

    def receive(self, message: Message) -> None:
        self._inbox.append(message)
        if self._hears and self._acts:
            self._hear()

    def die(self) -> None:
        """At once, wherever it is."""
        if self.alive:
            self.alive, self.writes_under = False, None
            self._world.wire.notice_death(self)

    def hang(self) -> None:
        """Stops for good wherever it is, like a process that was sent SIGSTOP."""
        if self.hung_at is None:
            self.hung_at = self._world.now

    def fail(self) -> None:
        if self._acts:
            self._decide(d.Said({"kind": "failed", "error": "an error in the user's code", "trace": ""}))

    def take_notice(self) -> None:
        if self._acts:
            self._decide(d.Said({"kind": "leaves"}))

    def lose_line(self) -> None:
        self.line += 1
        self.captaincy = None
        self.disturbed_at = self._world.now
        if self._acts:
            self._decide(d.Cut())

    def look_up(self) -> None:
        """What it waits for may have come, or there is a newer epoch or captain; it notices after a while."""
        if self._awaits is not None and (self._awaits[0]() or self._is_outdated):
            reached, go_on = self._awaits
            self._awaits = None
            self._after(self._world.delay(), lambda: self._woken(reached, go_on))
        elif self._hears and self._acts and self._shared.header[Header.TERM] > self._duty.term:
            self._hear()

    @property
    def _acts(self) -> bool:
        return self.alive and self.hung_at is None

    def _build(self) -> None:
        self.built = True
        strangers = self._world.plan.strangers
        self._decide(d.Said({"kind": "built", "digest": str(self.number) if strangers else "same"}))
        self._rest()

    def _rest(self) -> None:
        self._hears = True
        self._hear()

    def _hear(self) -> None:
        """At a safe point, or at rest; no more than a view to step under."""
        self._decide(d.Noticed(self._shared.header[Header.TERM]))
        while self._inbox and self._hears and self._acts:
            message = self._inbox.pop(0)
            answer = self._decide(d.Heard(message))
            self._world.law.judge_answer(message, answer)
        if self._hears and self._acts:
            self._tick()

    def _decide(self, event: d.Event) -> list[d.Action]:
        world = self._world
        actions = self._duty.handle(event, world.now)
        for action in actions:
            match action:
                case d.Greet(message):
                    self.line += 1
                    self.captaincy = world.captaincy
                    world.wire.up(self, message)
                case d.Send(message):
                    world.wire.up(self, message)
                case d.Work(view):
                    self._hears = False
                    self._after(world.delay(), lambda view=view: self._begin(view))  # type: ignore[misc]
                case d.Leave():
                    self.die()
        due_at = self._duty.due_at
        if due_at is not None and due_at < self._ticks_at:
            self._ticks_at = due_at
            self._after(max(0.01, due_at - world.now), self._tick)
        return actions

    def _tick(self) -> None:
        """When it is busy, it hears and ticks at the next safe point instead."""
        self._ticks_at = math.inf
        if self._hears:
            if self.captaincy is None:
                self._decide(d.Cut())
            self._decide(d.Tick())

    def _begin(self, view: View) -> None:
        """Enter the view; its leader mends first."""
        self._view = view
        self._world.law.judge_work(view)
        self._arrive(0)
        self._set(Seat.WAITING, 0)
        if self._is_outdated:
            self._leave("interrupted")
        elif self._leads:
            self._work(MEND_S, self._mended)
        else:
            self._wait(lambda: self._shared.header[Header.MENDED] == view.epoch, self._enter)

    def _mended(self) -> None:
        self._shared.header[Header.MENDED] = self._view.epoch
        self._shared.commit(self._shared.step)
        self._enter()

    def _enter(self) -> None:
        self._step = self._shared.step
        self._next_step()

    def _next_step(self) -> None:
        if self._step >= self._world.plan.steps:
            self._leave("finished")
        else:
            share = self._view.replicas(self._world.plan.replicas, self._view.ranks[self.number])
            self._gather(iter([r for r in share if self._shared.published[r] != self._step + 1]))

    def _gather(self, replicas: Iterator[int]) -> None:
        step, replica = self._step, next(replicas, None)
        if replica is None:
            if self._leads:
                self._shared.give_orders(step, self._world.stopping)
            return self._meet(_GATHERED, self._apply)

        def publish() -> None:
            self._shared.publish(step, replica)
            self._gather(replicas)

        return self._work(REPLICA_S, publish)

    def _apply(self) -> None:
        share = self._view.share(PIECES, self._view.ranks[self.number])
        self._apply_rest(iter([piece for piece in share if self._shared.pieces[piece] != self._step + 1]))

    def _apply_rest(self, pieces: Iterator[int]) -> None:
        step, piece = self._step, next(pieces, None)
        if piece is None:
            return self._meet(_APPLIED, self._commit)

        def apply() -> None:
            self._shared.apply(step, piece)
            self._apply_rest(pieces)

        return self._work(PIECE_S, apply)

    def _commit(self) -> None:
        step = self._step
        self._world.law.judge_step(step, self._view)
        stops = self._shared.orders == (step + 1, True)
        if self._leads:
            self._shared.commit(step + 1)
        self._step += 1
        if stops:
            self._leave("stopped")
        else:
            self._next_step()

    def _leave(self, outcome: Literal["interrupted", "finished", "stopped"]) -> None:
        self._set(Seat.WAITING, 1)
        self.writes_under = None
        self._after(self._world.delay(), lambda: self._leave_off(outcome))

    def _leave_off(self, outcome: Literal["interrupted", "finished", "stopped"]) -> None:
        self._decide(d.Rested(outcome))
        self._rest()

    def _work(self, longest_s: float, go_on: Callable[[], None]) -> None:
        """From a safe point on, a stretch without one: shared memory may be half changed until it is over."""
        self._hears = True
        self._hear()
        self._hears = False
        if self._acts and self._is_outdated:
            self._leave("interrupted")
        elif self._acts:
            self._stretch(longest_s, go_on)

    def _stretch(self, longest_s: float, go_on: Callable[[], None]) -> None:
        self.writes_under = self._view.epoch
        stretch_s = longest_s * self._world.chance.random() ** 3
        slow_s = min(self.slowness * stretch_s, 0.25 * self._world.plan.patience_s)
        self._after(max(stretch_s, slow_s), lambda: self._worked(go_on))

    def _worked(self, go_on: Callable[[], None]) -> None:
        """What is finished counts, even if there is a newer epoch by now."""
        self.writes_under = None
        self._set(Seat.BEATS, self._get(Seat.BEATS) + 1)
        go_on()

    def _meet(self, phase: int, go_on: Callable[[], None]) -> None:
        place, epoch, seats = self._step * _PHASES + phase, self._view.epoch, self._view.seats
        target = epoch << _PLACE_BITS | place
        self._arrive(place)
        self._wait(lambda: all(target <= self._arrived(seat) < epoch + 1 << _PLACE_BITS for seat in seats), go_on)

    def _wait(self, reached: Callable[[], bool], go_on: Callable[[], None]) -> None:
        self._set(Seat.WAITING, 1)
        self._awaits = reached, go_on
        self._hears = True
        self._hear()

    def _woken(self, reached: Callable[[], bool], go_on: Callable[[], None]) -> None:
        """What was reached counts, even if there is a newer epoch by now."""
        self._hears = False
        if reached():
            self._set(Seat.WAITING, 0)
            go_on()
        else:
            self._leave("interrupted")

    def _after(self, delay_s: float, go_on: Callable[[], None]) -> None:
        self._world.later(delay_s, lambda: go_on() if self._acts else None)

    @property
    def _leads(self) -> bool:
        return self._view.ranks[self.number] == 0

    @property
    def _is_outdated(self) -> bool:
        return self._world.newest_epoch not in (None, self._view.epoch)

    def _arrive(self, place: int) -> None:
        self._set(Seat.ARRIVED, self._view.epoch << _PLACE_BITS | place)

    def _arrived(self, seat: int) -> int:
        return int(self._shared.seats[seat * SEAT_WORDS + Seat.ARRIVED])

    def _get(self, place: int) -> int:
        return int(self._shared.seats[dict(self._view.members)[self.number] * SEAT_WORDS + place])

    def _set(self, place: int, value: int) -> None:
        self._shared.seats[dict(self._view.members)[self.number] * SEAT_WORDS + place] = value
