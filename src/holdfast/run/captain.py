"""The captain: decides who is in the crew. A pure state machine, without a clock, a socket or a thread.

`handle` takes one event and the time, and returns what is to be done about it. The crew's driver carries that out in
production; a simulator does so in the tests.

A view changes in two phases. The captain proposes it to its members under a new epoch; each comes to a safe point
and accepts; when all have, the captain commits it and they go on. Any change before that begins a newer epoch. A
worker is left out only once its process has ended, so nobody outside the view can still write.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from holdfast.run.view import View

# What happened:


@dataclass(frozen=True)
class Begin:
    """The run is to start."""


@dataclass(frozen=True)
class Built:
    """A worker has its model and data, and can join."""

    worker: int
    digest: str


@dataclass(frozen=True)
class Accepted:
    """A worker is at a safe point and agrees to the view of this epoch."""

    worker: int
    epoch: int


@dataclass(frozen=True)
class Done:
    """A worker has come to the end under this epoch, or to an ordered stop."""

    worker: int
    epoch: int
    stopped: bool


@dataclass(frozen=True)
class Failed:
    """A worker met an error that others would meet as well."""

    worker: int
    error: str


@dataclass(frozen=True)
class Lost:
    """A worker's process has ended."""

    worker: int
    cause: str


@dataclass(frozen=True)
class Hung:
    """A worker shows no progress while the others wait."""

    worker: int
    cause: str


@dataclass(frozen=True)
class Tick:
    """Time has passed."""


Event = Begin | Built | Accepted | Done | Failed | Lost | Hung | Tick

# What is to be done:


@dataclass(frozen=True)
class Spawn:
    worker: int


@dataclass(frozen=True)
class Propose:
    view: View


@dataclass(frozen=True)
class Commit:
    view: View


@dataclass(frozen=True)
class Kill:
    worker: int


@dataclass(frozen=True)
class Note:
    """Something for the time line."""

    kind: str
    text: str
    worker: int | None = None


@dataclass(frozen=True)
class End:
    """The run is over; `status` is finished, stopped or failed, the last with the reason."""

    status: Literal["finished", "stopped", "failed"]
    error: str | None = None


Action = Spawn | Propose | Commit | Kill | Note | End


@dataclass(frozen=True)
class Terms:
    """What the captain is bound to."""

    workers: int
    at_least: int
    restarts: int
    seats: int
    patience_s: float


@dataclass
class _Member:
    built: bool = False
    seat: int | None = None
    doomed: bool = False


@dataclass
class Captain:
    """All that is decided so far. Changed by `handle` only."""

    terms: Terms
    members: dict[int, _Member] = field(default_factory=dict)
    view: View = field(default_factory=lambda: View(0, ()))
    accepted: set[int] = field(default_factory=set)
    committed: bool = False
    done: set[int] = field(default_factory=set)
    deaths: int = 0
    next_worker: int = 0
    digest: str | None = None
    ended: bool = False
    first_built: float | None = None
    respawn_at: float | None = None
    asked_at: float = 0.0

    def handle(self, event: Event, now: float) -> list[Action]:
        """Decide. Events about workers that are not known (any more) change nothing."""
        if self.ended:
            return []
        match event:
            case Begin():
                return [self._spawn() for _ in range(self.terms.workers)]
            case Built(worker, digest) if worker in self.members:
                return list(self._built(worker, digest, now))
            case Accepted(worker, epoch) if epoch == self.view.epoch and worker in self.members:
                return list(self._accepted(worker))
            case Done(worker, epoch, stopped) if epoch == self.view.epoch and worker in self.members:
                return list(self._done(worker, stopped, now))
            case Failed(worker, error) if worker in self.members:
                return [Note("failed", error, worker), self._end("failed", error)]
            case Lost(worker, cause) if worker in self.members:
                return list(self._lost(worker, cause, now))
            case Hung(worker, cause) if worker in self.members and not self.members[worker].doomed:
                return list(self._doom(worker, cause))
            case Tick():
                return list(self._tick(now))
        return []

    def _built(self, worker: int, digest: str, now: float) -> Iterator[Action]:
        if self.digest is None:
            self.digest = digest
        if digest != self.digest:
            text = (
                f"worker {worker} built another model than the others (layout {digest} instead of {self.digest}): "
                "the model or the data depend on something that is not in the job"
            )
            yield Note("failed", text, worker)
            yield self._end("failed", text)
            return
        self.members[worker].built = True
        if self.first_built is None:
            self.first_built = now
        yield from self._revise(now)

    def _accepted(self, worker: int) -> Iterator[Action]:
        self.accepted.add(worker)
        if not self.committed and self.accepted >= {member for member, _ in self.view.members}:
            self.committed = True
            yield Commit(self.view)

    def _done(self, worker: int, stopped: bool, now: float) -> Iterator[Action]:
        if not self.done:
            self.asked_at = now
        self.done.add(worker)
        if self.committed and self.done >= {member for member, _ in self.view.members}:
            yield self._end("stopped" if stopped else "finished")

    def _lost(self, worker: int, cause: str, now: float) -> Iterator[Action]:
        was_built = self.members.pop(worker).built
        self.deaths += 1
        yield Note("died", cause, worker)
        if self.deaths > self.terms.restarts:
            if len(self.members) < self.terms.at_least:
                yield self._end("failed", self._too_few(cause))
                return
        elif self.respawn_at is None:
            # A crew that dies while it is being built would otherwise be replaced as fast as it can die.
            self.respawn_at = now if was_built else now + min(10.0, 0.25 * 2 ** min(self.deaths, 6))
        yield from self._tick(now)
        yield from self._revise(now)

    def _tick(self, now: float) -> Iterator[Action]:
        if self.respawn_at is not None and now >= self.respawn_at:
            self.respawn_at = None
            missing = self.terms.workers - len(self.members)
            allowed = self.terms.workers + self.terms.restarts - self.next_worker
            for _ in range(min(missing, allowed)):
                yield self._spawn()
        if self.view.epoch == 0:
            yield from self._revise(now)
        yield from self._hurry(now)

    def _hurry(self, now: float) -> Iterator[Action]:
        """Nobody is waited for without end: neither for its consent, nor to come to the end when others have."""
        is_asked = self.done or not self.committed
        if not is_asked or now - self.asked_at <= self.terms.patience_s:
            return
        answered = self.done if self.committed else self.accepted
        for worker, _ in self.view.members:
            if worker not in answered and worker in self.members and not self.members[worker].doomed:
                yield from self._doom(worker, f"worker {worker} did not answer for {self.terms.patience_s:g} s")

    def _doom(self, worker: int, cause: str) -> Iterator[Action]:
        self.members[worker].doomed = True
        yield Note("hung", cause, worker)
        yield Kill(worker)

    def _revise(self, now: float) -> Iterator[Action]:
        """Propose a view of all who can work, if it is another than the last one."""
        able = [worker for worker, member in sorted(self.members.items()) if member.built]
        if not able or not self._may_begin(len(able), now):
            return
        if able == [worker for worker, _ in self.view.members]:
            return
        for worker in able:
            if self.members[worker].seat is None:
                self.members[worker].seat = self._free_seat()
        pairs = tuple((worker, self.members[worker].seat or 0) for worker in able)
        self.view = View(self.view.epoch + 1, pairs)
        self.accepted, self.done, self.committed = set(), set(), False
        self.asked_at = now
        yield Propose(self.view)

    def _may_begin(self, able: int, now: float) -> bool:
        """The first view waits for everybody, but not for ever."""
        if self.view.epoch > 0 or able >= self.terms.workers:
            return True
        waited = now - (self.first_built if self.first_built is not None else now)
        return able >= self.terms.at_least and waited > self.terms.patience_s

    def _spawn(self) -> Spawn:
        worker, self.next_worker = self.next_worker, self.next_worker + 1
        self.members[worker] = _Member()
        return Spawn(worker)

    def _free_seat(self) -> int:
        taken = {member.seat for member in self.members.values()}
        return next(seat for seat in range(self.terms.seats) if seat not in taken)

    def _end(self, status: Literal["finished", "stopped", "failed"], error: str | None = None) -> End:
        self.ended = True
        return End(status, error)

    def _too_few(self, cause: str) -> str:
        return (
            f"{self.deaths} workers died, which is more than crew.restarts = {self.terms.restarts}, and "
            f"{len(self.members)} are left of at least {self.terms.at_least}; the last: {cause}"
        )
