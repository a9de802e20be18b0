"""What the captain's side reads off the shared memory, and the few words it writes there. It imports no torch."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.engines.base import Activity
from holdfast.ledger.checkpoints import Section
from holdfast.planes.arena import Arena
from holdfast.planes.words import words_of
from holdfast.run.events import Place
from holdfast.run.view import announce_epoch, begin_term, newest_epoch
from holdfast.step.places import HISTORY, SEAT_WORDS, Header, Seat

_WORD = 8


_RESTING_S = 0.03
_SURE_AFTER = 5
_ENOUGH = 3
_FLOOR_S, _TIMES_SLOWEST = 0.6, 2.0


@dataclass
class _Pulse:
    beats: int
    since: float
    processor_s: float
    seen: int = 0


@dataclass(frozen=True)
class Row:
    """One step of the history."""

    step: int
    loss: float
    samples: float
    grad_norm: float
    lr: float
    time: float


@dataclass(frozen=True)
class Entry:
    """How a view began: in which step, how many replicas of it were done, and how many pieces had to be restored."""

    epoch: int
    step: int
    kept: int
    torn: int


@dataclass
class Gauges:
    """The run's memory from outside. `layout` is what a worker has written down of it."""

    arena: Arena
    layout: Mapping[str, Any]
    _pulses: dict[int, _Pulse] = field(default_factory=dict)
    _watched: frozenset[int] = frozenset()
    """Who was looked at the last time."""
    _slowest_s: float = 0.0
    """The longest that any worker has taken from one beat to the next."""

    def __post_init__(self) -> None:
        layout = self.layout
        self._header = words_of(self.arena.bytes_at(0, 32 * _WORD))
        self._seats = words_of(self.arena.bytes_at(layout["seats"], _WORD * SEAT_WORDS * layout["num_seats"]))
        steps = layout["steps"]
        self._history = self.arena.bytes_at(layout["history"], _WORD * len(HISTORY) * steps).cast("d")
        self._times = self.arena.bytes_at(layout["times"], _WORD * steps).cast("d")

    @property
    def committed(self) -> int:
        return int(self._header[Header.COMMITTED])

    @property
    def is_prepared(self) -> bool:
        return bool(self._header[Header.READY])

    @property
    def began_at(self) -> int:
        """The step from which this process of the run went on."""
        return max(0, int(self._header[Header.READY]) - 1)

    def begin_term(self, term: int) -> None:
        begin_term(self._header, term)

    def announce(self, term: int, epoch: int) -> None:
        """Let it be seen that there is a newer view; whoever works under another comes to a safe point."""
        announce_epoch(self._header, term, epoch)

    @property
    def newest_epoch(self) -> int | None:
        return newest_epoch(self._header)

    def computing(self, seat: int) -> Place | None:
        """What the worker of a seat is computing, or was when it died."""
        step, replica = divmod(self._of_seat(seat, Seat.COMPUTING), 1 << 24)
        return Place(step - 1, replica - 1) if replica else None

    def beat(self) -> None:
        self._header[Header.BEATS] += 1

    def wish_stop(self) -> None:
        self._header[Header.WISH_STOP] = 1

    def wish_changes(self, count: int) -> None:
        self._header[Header.WISH_CHANGES] = max(count, self._header[Header.WISH_CHANGES])

    @property
    def entry(self) -> Entry:
        """What the crew of the newest view that has begun to work has found."""
        header = self._header
        places = (Header.MENDED, Header.ENTERED, Header.KEPT, Header.TORN)
        return Entry(*(int(header[place]) for place in places))

    @property
    def changes(self) -> int:
        """How many changes hold in the step whose orders were given last."""
        return int(self._header[Header.ORDERS]) >> 8 & 0xFFFF

    def stop_at(self, steps: int) -> None:
        self._header[Header.STOP_AT] = steps

    def wish_snapshot(self) -> None:
        self._header[Header.WISH_SNAPSHOT] += 1

    @property
    def shadow_step(self) -> int | None:
        """The step whose state the shadow holds and nobody has saved yet."""
        full = int(self._header[Header.SHADOW_FULL])
        return full - 1 if full != self._header[Header.SHADOW_SAVED] else None

    def populate_shadow(self, start: int, size: int) -> bool:
        """Find pages for a part of the shadow; False when there is no such part."""
        left = self.layout["shadow_bytes"] - start
        if left > 0:
            self.arena.populate(self.layout["shadow"] + start, min(size, left))
        return bool(left > 0)

    def release_shadow(self, give_back: bool) -> None:
        """The shadow is saved, or given up; it may be filled again. Its memory may be given back until then."""
        if give_back:
            self.arena.release(self.layout["shadow"], self.layout["shadow_bytes"])
        self._header[Header.SHADOW_SAVED] = self._header[Header.SHADOW_FULL]

    def rows(self, start: int, stop: int, every: int = 1) -> list[Row]:
        """The history of committed steps."""
        return [self._row(step) for step in range(start, stop) if step % every == 0 or step == stop - 1]

    def _row(self, step: int) -> Row:
        loss, samples, norm, lr = self._history[step * len(HISTORY) : (step + 1) * len(HISTORY)].tolist()
        return Row(step, loss, samples, norm, lr, self._times[step])

    def replicas_of(self, seat: int) -> int:
        return self._of_seat(seat, Seat.REPLICAS)

    def worked(self, seats: Iterable[int]) -> list[tuple[int, float]]:
        """Of each seat the replicas computed so far, and the seconds that took."""
        return [(self._of_seat(seat, Seat.REPLICAS), self._of_seat(seat, Seat.BUSY_US) / 1e6) for seat in seats]

    def stuck(
        self,
        members: Iterable[tuple[int, int]],
        patience_s: float,
        now: float,
        activity: Callable[[int], Activity] = lambda worker: Activity(float("nan"), False),
    ) -> dict[int, float]:
        """The workers that should be busy and have finished nothing for too long; for how many seconds.

        Who waits is excused, unless what it waits for is there, and it does not wake: when others have come further,
        or when nobody works at all. So is who was not looked at the last time: it may have had nothing to do. Too long
        is `patience_s` for a worker that computes. One that rests, as it does when it is stopped or when what it reads
        never comes, is given twice the time that anybody ever took.
        """
        members = list(members)
        waiting = self._waiting(members)
        found = {}
        for worker, seat in members:
            beats, doing = self._of_seat(seat, Seat.BEATS), activity(worker)
            pulse = self._pulses.get(worker)
            excused = worker in waiting and len(waiting) < len(members)
            if pulse is None or excused or worker not in self._watched:
                self._pulses[worker] = _Pulse(beats, now, doing.processor_s, pulse.seen if pulse else 0)
            elif pulse.beats != beats:
                self._slowest_s = max(self._slowest_s, now - pulse.since)
                self._pulses[worker] = _Pulse(beats, now, doing.processor_s, pulse.seen + 1)
            elif now - pulse.since > self._limit_s(pulse, doing, patience_s):
                found[worker] = now - pulse.since
        self._watched = frozenset(worker for worker, _ in members)
        return found

    def _limit_s(self, pulse: _Pulse, doing: Activity, patience_s: float) -> float:
        rests = pulse.seen >= _SURE_AFTER and doing.processor_s - pulse.processor_s < _RESTING_S
        if rests or doing.stopped:
            return min(patience_s, _FLOOR_S + _TIMES_SLOWEST * self._slowest_s)
        return patience_s

    def _waiting(self, members: Sequence[tuple[int, int]]) -> set[int]:
        """Those that wait as far on as anybody is."""
        furthest = max((self._of_seat(seat, Seat.ARRIVED) for _, seat in members), default=0)
        return {
            worker
            for worker, seat in members
            if self._of_seat(seat, Seat.WAITING) and self._of_seat(seat, Seat.ARRIVED) == furthest
        }

    def _of_seat(self, seat: int, place: int) -> int:
        return int(self._seats[seat * SEAT_WORDS + place])

    def sections(self, step: int, from_shadow: bool) -> list[Section]:
        """What a checkpoint of this step keeps, as it lies in memory."""
        distance = self.layout["shadow_distance"] if from_shadow else 0
        found = []
        for part in self.layout["sections"]:
            if part["name"] == "history":
                size = _WORD * len(HISTORY) * step
                found.append(Section("history", "F64", (step, len(HISTORY)), self.arena.bytes_at(part["offset"], size)))
            else:
                data = self.arena.bytes_at(part["offset"] + distance, part["bytes"])
                found.append(Section(part["name"], part["dtype"], tuple(part["shape"]), data))
        return found


def speeds(before: Sequence[tuple[int, float]], after: Sequence[tuple[int, float]]) -> tuple[float, ...]:
    """Replicas per second of work between two looks; 0 for who has finished too few to tell."""
    found = []
    for (old, then), (new, now) in zip(before, after, strict=True):
        found.append((new - old) / (now - then) if new - old >= _ENOUGH and now > then else 0.0)
    return tuple(found)


def digests(sections: Iterable[Section]) -> tuple[str, str]:
    """SHA-256 of the model, and of the whole state: names, types, shapes and bytes, in the order of names."""
    model, state = hashlib.sha256(), hashlib.sha256()
    for section in sorted(sections, key=lambda section: section.name):
        head = f"{section.name}|{section.dtype}|{section.shape}|".encode()
        for digest in (state, model) if section.name.startswith("model.") else (state,):
            digest.update(head)
            digest.update(section.data)
    return model.hexdigest(), state.hexdigest()
