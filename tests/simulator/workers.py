"""A worker, as others see it."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.run import events as e
from holdfast.run.view import EPOCH_BITS, View
from holdfast.step.places import SEAT_WORDS, Seat

if TYPE_CHECKING:
    from captaincy import Captaincy
    from world import World

Message = tuple[str, View]
_PLACE_BITS = 64 - EPOCH_BITS
_GATHERED, _APPLIED = 2, 4
_PHASES = 8


class Worker:
    """Builds, then obeys one message after the other; stepping is what it does at a commit."""

    def __init__(self, world: "World", number: int, captaincy: "Captaincy") -> None:
        self.number = number
        self.alive = True
        self.hung = False
        self.built = False
        self.writes_under: int | None = None
        """The epoch under which it may be changing shared memory just now."""
        self.running: int | None = None
        self.done: int | None = None
        self._world = world
        self._captaincy = captaincy
        self._connecting = False
        self._told: dict[str, e.Event] = {}
        self._proposed = View(0, ())
        self._view: View | None = None
        self._inbox: deque[Message] = deque()
        self._busy = True
        self._awaits: tuple[Callable[[], bool], Callable[[], None]] | None = None
        self._heard_at = self._told_at = 0.0
        self._after(world.chance.uniform(0.5, 15.0), self._announce)

    def told(self) -> list[e.Event]:
        """What every captain must know."""
        return list(self._told.values())

    def tell(self, message: Message, captaincy: "Captaincy") -> None:
        """Messages come late, but in order; those of a captain whose line was given up do not come."""
        world = self._world
        self._told_at = max(self._told_at, world.now + world.delay())
        world.later(self._told_at - world.now, lambda: self._receive(message, captaincy))

    def die(self) -> None:
        """At once, wherever it is; the crew learns it after all that was said before."""
        if not self.alive:
            return
        self.alive, self.writes_under = False, None
        self._later_heard(lambda: self._world.captaincy.bury(self))

    def hang(self) -> None:
        """Stops for good wherever it is, like a process that was sent SIGSTOP."""
        self.hung = True

    def fail(self) -> None:
        if self.alive and not self.hung:
            self._say("failed", e.Failed(self.number, "an error in the user's code"))

    def look_up(self) -> None:
        """What it waits for may have come, or there is a newer epoch or captain; it notices after a while."""
        if self._captaincy is not self._world.captaincy and not self._connecting and self.alive and not self.hung:
            self._connecting = True
            self._after(self._world.delay(), self._connect)
        if self._awaits is not None and (self._awaits[0]() or self._is_outdated):
            reached, go_on = self._awaits
            self._awaits = None
            self._after(self._world.delay(), lambda: self._woken(reached, go_on))

    def _announce(self) -> None:
        self.built = True
        self._say("built", e.Built(self.number, self._world.faults.digest_of(self.number)))
        self._rest()

    def _connect(self) -> None:
        """What the last captain had said and was not read is lost with its line."""
        self._connecting = False
        self._captaincy = self._world.captaincy
        self._inbox.clear()
        self._captaincy.welcome(self)

    def _receive(self, message: Message, captaincy: "Captaincy") -> None:
        if captaincy is not self._captaincy:
            return
        self._inbox.append(message)
        if not self._busy and self.alive and not self.hung:
            self._obey()

    def _rest(self) -> None:
        self._busy, self._view, self.writes_under, self.running = False, None, None, None
        if self._inbox:
            self._obey()

    def _obey(self) -> None:
        self._busy = True
        kind, view = self._inbox.popleft()
        if kind == "quit":
            return self.die()
        if kind == "propose":
            self._proposed = view
            self._say("accepted", e.Accepted(self.number, view.epoch))
        elif view.epoch == self._proposed.epoch:
            return self._begin(view)
        return self._after(self._world.delay(), self._rest)

    def _begin(self, view: View) -> None:
        """Enter the view; its leader mends first."""
        self._view, self.running = view, view.epoch
        self._arrive(0)
        self._set(Seat.WAITING, 0)
        if self._is_outdated:
            return self._leave()
        if view.place_of(self.number) == 0:
            return self._work(0.2, self._mended)
        return self._wait(lambda: self._world.mended == view.epoch, self._next_step)

    def _mended(self) -> None:
        self._world.mended = self._epoch
        self._next_step()

    def _next_step(self) -> None:
        if self._world.step >= self._world.steps:
            self._finish(stopped=False)
        elif self._is_outdated:
            self._leave()
        else:
            self._gather(self._world.step)

    def _gather(self, step: int) -> None:
        self._work(2.0, lambda: self._meet(step, _GATHERED, lambda: self._apply(step)))

    def _apply(self, step: int) -> None:
        stops = self._world.stopping
        self._work(0.5, lambda: self._meet(step, _APPLIED, lambda: self._commit(step, stops)))

    def _commit(self, step: int, stops: bool) -> None:
        self._world.law.judge_step(step, self._view)
        self._world.step = max(self._world.step, step + 1)
        if stops:
            self._finish(stopped=True)
        else:
            self._next_step()

    def _finish(self, stopped: bool) -> None:
        epoch = self._epoch
        self._leave()
        self.done = epoch
        self._say("done", e.Done(self.number, epoch, stopped))

    def _work(self, longest_s: float, go_on: Callable[[], None]) -> None:
        """A stretch without a safe point: shared memory may be half changed until it is over."""
        self.writes_under = self._epoch
        self._world.law.judge_writers()
        self._after(self._world.chance.uniform(0.0, longest_s), lambda: self._worked(go_on))

    def _worked(self, go_on: Callable[[], None]) -> None:
        self.writes_under = None
        self._set(Seat.BEATS, self._get(Seat.BEATS) + 1)
        if self._is_outdated:
            self._leave()
        else:
            go_on()

    def _meet(self, step: int, phase: int, go_on: Callable[[], None]) -> None:
        assert self._view is not None
        seats, epoch = self._view.seats, self._epoch
        target = epoch << _PLACE_BITS | step * _PHASES + phase
        self._arrive(step * _PHASES + phase)
        self._wait(lambda: all(target <= self._arrived(seat) < epoch + 1 << _PLACE_BITS for seat in seats), go_on)

    def _wait(self, reached: Callable[[], bool], go_on: Callable[[], None]) -> None:
        self._set(Seat.WAITING, 1)
        self._awaits = reached, go_on

    def _woken(self, reached: Callable[[], bool], go_on: Callable[[], None]) -> None:
        """What was reached counts, even if there is a newer epoch by now."""
        if reached():
            self._set(Seat.WAITING, 0)
            go_on()
        else:
            self._leave()

    def _leave(self) -> None:
        self._set(Seat.WAITING, 1)
        self.writes_under = None
        self._after(self._world.delay(), self._rest)

    def _after(self, delay_s: float, go_on: Callable[[], None]) -> None:
        self._world.later(delay_s, lambda: go_on() if self.alive and not self.hung else None)

    def _say(self, kind: str, event: e.Event) -> None:
        """What it says is heard by the captain that it was said to, if that one is still heard of."""
        self._told[kind] = event
        captaincy = self._captaincy
        self._later_heard(lambda: captaincy.decide(event) if captaincy is self._captaincy else None)

    def _later_heard(self, heard: Callable[[], None]) -> None:
        """Late, but in order, and also when it has died since."""
        world = self._world
        self._heard_at = max(self._heard_at, world.now + world.delay())
        world.later(self._heard_at - world.now, heard)

    @property
    def _epoch(self) -> int:
        return self._view.epoch if self._view is not None else 0

    @property
    def _is_outdated(self) -> bool:
        return self._world.gauges.newest_epoch not in (None, self._epoch)

    @property
    def _seat(self) -> int:
        return dict(self._proposed.members)[self.number]

    def _arrive(self, place: int) -> None:
        self._set(Seat.ARRIVED, self._epoch << _PLACE_BITS | place)

    def _arrived(self, seat: int) -> int:
        return int(self._words[seat * SEAT_WORDS + Seat.ARRIVED])

    def _get(self, place: int) -> int:
        return int(self._words[self._seat * SEAT_WORDS + place])

    def _set(self, place: int, value: int) -> None:
        self._words[self._seat * SEAT_WORDS + place] = value

    @property
    def _words(self) -> memoryview:
        return self._world.seats
