"""The captain: decides who is in the crew. A pure state machine, without a clock, a socket or a thread.

`handle` takes one event and the time, and returns what is to be done about it. The crew's driver carries that out in
production; a simulator does so in the tests.

A view changes in two phases. The captain proposes it under a new epoch to all who may be working; each comes to a
safe point and accepts; when all have, the captain commits it and its members go on. Any change before that begins a
newer epoch. A worker is left out only once its process has ended or it has accepted to be left out, so nobody outside
the view can still write.

A captain acts under a term, which is part of every epoch it gives out. Its successor has a higher term, begins with the
standing that it left, and goes on under the committed view as if nothing had happened.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from holdfast.run import events as e
from holdfast.run.balance import cuts_for
from holdfast.run.view import View, epoch_after, is_of_term

_POISONED = 3
"""Deaths in a row at one place of the job after which the place is to blame."""


@dataclass(frozen=True)
class Terms:
    """What the captain is bound to."""

    workers: int
    at_least: int
    restarts: int
    seats: int
    patience_s: float
    batch: int = 0


@dataclass
class Member:
    """A worker whose process has not ended, as far as is known."""

    built: bool = False
    seat: int | None = None
    doomed: bool = False
    leaving: bool = False


@dataclass
class Captain:
    """All that is decided so far. Changed by `handle` only."""

    terms: Terms
    term: int = 0
    target: int = -1
    members: dict[int, Member] = field(default_factory=dict)
    view: View = field(default_factory=lambda: View(0, ()))
    accepted: set[int] = field(default_factory=set)
    committed: bool = False
    done: set[int] = field(default_factory=set)
    deaths: int = 0
    owed: int = 0
    next_worker: int = 0
    digest: str | None = None
    paused: bool = False
    ended: bool = False
    first_built: float | None = None
    respawn_at: float | None = None
    asked_at: float = 0.0
    unbalanced_in: int | None = None
    """The epoch in which it was last seen that work could be dealt out better."""
    died_at: tuple[e.Place, int] | None = None
    """Where the last worker died, and how many have died there in a row."""

    def __post_init__(self) -> None:
        if self.target < 0:
            self.target = self.terms.workers

    def standing(self) -> dict[str, Any]:
        """What a successor must know, as plain data."""
        return {
            "target": self.target,
            "members": {str(worker): asdict(member) for worker, member in self.members.items()},
            "epoch": self.view.epoch,
            "view": [list(pair) for pair in self.view.members],
            "cuts": list(self.view.cuts),
            "committed": self.committed,
            "deaths": self.deaths,
            "owed": self.owed,
            "next_worker": self.next_worker,
            "digest": self.digest,
            "paused": self.paused,
        }

    @classmethod
    def successor(cls, terms: Terms, term: int, standing: dict[str, Any]) -> Self:
        """Goes on from the standing of a captain with a lower term; it must be told `TakeOver` first."""
        plain = dict(standing)
        members = {int(worker): Member(**{**m, "doomed": False}) for worker, m in plain.pop("members").items()}
        view = View.of(plain.pop("epoch"), plain.pop("view"), plain.pop("cuts"))
        return cls(terms, term, members=members, view=view, **plain)

    def asked(self) -> tuple[int, ...]:
        """Who may be working, and so must agree to a change: all that ever had a seat."""
        return tuple(worker for worker, member in sorted(self.members.items()) if member.seat is not None)

    def handle(self, event: e.Event, now: float) -> list[e.Action]:
        """Decide. Events about workers that are not known (any more) change nothing."""
        if self.ended:
            return []
        worker = getattr(event, "worker", None)
        if worker is not None and worker not in self.members:
            return []
        return list(self._decide(event, now))

    def _decide(self, event: e.Event, now: float) -> Iterator[e.Action]:
        match event:
            case e.Begin():
                for _ in range(self.target):
                    yield self._spawn()
            case e.TakeOver():
                yield from self._take_over(now)
            case e.Built(worker, digest):
                yield from self._built(worker, digest, now)
            case e.Accepted(worker, epoch) if epoch == self.view.epoch:
                self.accepted.add(worker)
                yield from self._commit_if_agreed()
            case e.Done(worker, epoch, stopped) if epoch == self.view.epoch:
                yield from self._done(worker, stopped, now)
            case e.Failed(worker, error):
                yield e.Note("failed", error, worker)
                yield self._end("failed", error)
            case e.Lost(worker, cause, at):
                yield from self._lost(worker, cause, at, now)
            case e.Hung(worker, cause) if not self.members[worker].doomed:
                yield from self._doom(worker, cause)
            case e.Measured(speeds) if self.committed and len(speeds) == len(self.view.members):
                yield from self._balance(speeds, now)
            case e.Tick():
                yield from self._tick(now)
            case _:
                yield from self._wished(event, now)

    def _wished(self, event: e.Event, now: float) -> Iterator[e.Action]:
        """What people want of the crew while it works."""
        match event:
            case e.Leaves(worker) if not self.members[worker].leaving:
                yield e.Note("leaving", f"worker {worker} was given notice, so it leaves", worker)
                self.owed += 1
                self.respawn_at = now
                yield from self._let_go([worker], now)
            case e.Drain(worker) if not self.members[worker].leaving:
                self.target = max(1, self.target - 1)
                yield e.Note("leaving", f"worker {worker} is asked to leave", worker)
                yield from self._let_go([worker], now)
            case e.Scale(workers):
                yield e.Note("scaled", f"the crew is to have {workers} worker{'s' * (workers != 1)}")
                yield from self._scale(workers, now)
            case e.Pause() if not self.paused:
                self.paused = True
                yield e.Note("paused", "the run is paused")
                yield from self._revise(now)
            case e.Unpause() if self.paused:
                self.paused = False
                yield e.Note("unpaused", "the run goes on")
                yield from self._revise(now)

    def _take_over(self, now: float) -> Iterator[e.Action]:
        """A view that all agreed to goes on undisturbed; one that was only proposed is proposed anew."""
        missing = self.target - self._staying()
        if self.deaths > self.terms.restarts and len(self.members) < self.terms.at_least:
            yield self._end("failed", self._too_few("the captain"))
            return
        if self.deaths <= self.terms.restarts and missing > 0:
            self.owed, self.respawn_at = missing, now
        if any(member.built for member in self.members.values()):
            self.first_built = now
        if self.view.epoch and not self.committed and (self.paused or self._able()):
            yield from self._propose(now)
        yield from self._revise(now)

    def _built(self, worker: int, digest: str, now: float) -> Iterator[e.Action]:
        if self.digest is None:
            self.digest = digest
        if digest != self.digest:
            text = (
                f"worker {worker} built another model than the others (layout {digest} instead of {self.digest}): "
                "the model or the data depend on something that is not in the job"
            )
            yield e.Note("failed", text, worker)
            yield self._end("failed", text)
            return
        self.members[worker].built = True
        if self.first_built is None:
            self.first_built = now
        yield from self._revise(now)

    def _commit_if_agreed(self) -> Iterator[e.Action]:
        present = all(worker in self.members for worker, _ in self.view.members)
        mine = self.view.epoch and is_of_term(self.view.epoch, self.term)
        if self.committed or not mine or not present or not self.accepted >= set(self.asked()):
            return
        self.committed = True
        yield e.Commit(self.view)
        inside = {worker for worker, _ in self.view.members}
        for worker in self.asked():
            if self.members[worker].leaving and worker not in inside:
                yield e.Release(worker)

    def _done(self, worker: int, stopped: bool, now: float) -> Iterator[e.Action]:
        if not self.done:
            self.asked_at = now
        self.done.add(worker)
        if self.committed and self.done >= {member for member, _ in self.view.members}:
            yield self._end("stopped" if stopped else "finished")

    def _lost(self, worker: int, cause: str, at: e.Place | None, now: float) -> Iterator[e.Action]:
        member = self.members.pop(worker)
        if member.leaving:
            yield e.Note("left", f"worker {worker} left", worker)
        else:
            yield e.Note("died", cause, worker)
            yield from self._count_death(member, cause, at, now)
            if self.ended:
                return
        if not self.members and not self.owed:
            yield self._end("failed", self._too_few(cause))
            return
        yield from self._tick(now)
        yield from self._revise(now)
        yield from self._commit_if_agreed()

    def _count_death(self, member: Member, cause: str, at: e.Place | None, now: float) -> Iterator[e.Action]:
        self.deaths += 1
        before = self.died_at[1] if self.died_at is not None and self.died_at[0] == at else 0
        self.died_at = None if at is None else (at, before + 1)
        if at is not None and before + 1 >= _POISONED:
            yield self._end("failed", self._poisoned(at, cause))
        elif self.deaths <= self.terms.restarts:
            self.owed += 1
            if self.respawn_at is None:
                # A crew that dies while it is being built would otherwise be replaced as fast as it can die.
                self.respawn_at = now if member.built else now + min(10.0, 0.25 * 2 ** min(self.deaths, 6))
        elif len(self.members) < self.terms.at_least:
            yield self._end("failed", self._too_few(cause))

    def _balance(self, speeds: tuple[float, ...], now: float) -> Iterator[e.Action]:
        """Work follows speed, but not every whim of it: twice in a row it must be worth while."""
        replicas = self.terms.seats - 2
        dealt = [len(self.view.replicas(replicas, rank)) for rank in range(len(speeds))]
        cuts = None if self.done else cuts_for(speeds, replicas, dealt)
        if cuts is not None and self.unbalanced_in == self.view.epoch:
            told = (
                f"{speed:.3g} of worker {worker}" for (worker, _), speed in zip(self.view.members, speeds, strict=True)
            )
            yield e.Note("balanced", f"work follows speed, in replicas/s: {', '.join(told)}")
            yield from self._propose(now, cuts)
            cuts = None
        self.unbalanced_in = None if cuts is None else self.view.epoch

    def _scale(self, workers: int, now: float) -> Iterator[e.Action]:
        self.target = workers
        self.owed = max(0, workers - self._staying())
        self.respawn_at = now if self.owed else None
        staying = sorted(worker for worker, member in self.members.items() if not member.leaving)
        yield from self._let_go(staying[workers:], now)

    def _let_go(self, workers: list[int], now: float) -> Iterator[e.Action]:
        """Whoever has no seat has nothing to finish."""
        for worker in workers:
            self.members[worker].leaving = True
            if self.members[worker].seat is None:
                yield e.Kill(worker)
        yield from self._tick(now)
        yield from self._revise(now)

    def _tick(self, now: float) -> Iterator[e.Action]:
        if self.respawn_at is not None and now >= self.respawn_at:
            self.respawn_at = None
            for _ in range(min(self.owed, self.target - self._staying())):
                yield self._spawn()
            self.owed = 0
        if self.view.epoch == 0:
            yield from self._revise(now)
        yield from self._hurry(now)

    def _hurry(self, now: float) -> Iterator[e.Action]:
        """Nobody is waited for without end: neither for its consent, nor to come to the end when others have."""
        is_asked = self.done or not self.committed
        if not is_asked or now - self.asked_at <= self.terms.patience_s:
            return
        awaited = {worker for worker, _ in self.view.members} - self.done
        for worker in sorted(awaited if self.committed else set(self.asked()) - self.accepted):
            if worker in self.members and not self.members[worker].doomed:
                yield from self._doom(worker, f"worker {worker} did not answer for {self.terms.patience_s:g} s")

    def _doom(self, worker: int, cause: str) -> Iterator[e.Action]:
        self.members[worker].doomed = True
        yield e.Note("hung", cause, worker)
        yield e.Kill(worker)

    def _revise(self, now: float) -> Iterator[e.Action]:
        """Propose a view of all who can work, if it is another than the last one."""
        able = self._able()
        if self.view.epoch == 0 and not self._may_begin(len(able), now):
            return
        if able != [worker for worker, _ in self.view.members] and (able or self.paused):
            yield from self._propose(now)

    def _propose(self, now: float, cuts: tuple[int, ...] = ()) -> Iterator[e.Action]:
        able = self._able()
        for worker in able:
            if self.members[worker].seat is None:
                self.members[worker].seat = self._free_seat()
        pairs = tuple((worker, self.members[worker].seat or 0) for worker in able)
        self.view = View(epoch_after(self.view.epoch, self.term), pairs, cuts)
        self.accepted, self.done, self.committed = set(), set(), False
        self.asked_at = now
        yield e.Propose(self.view, self.asked())

    def _able(self) -> list[int]:
        if self.paused:
            return []
        able = [worker for worker, member in sorted(self.members.items()) if member.built and not member.leaving]
        free = self.terms.seats - len(self.asked())
        newcomers = [worker for worker in able if self.members[worker].seat is None]
        return [worker for worker in able if worker not in newcomers[free:]]

    def _staying(self) -> int:
        return sum(not member.leaving for member in self.members.values())

    def _may_begin(self, able: int, now: float) -> bool:
        """The first view waits for everybody, but not for ever."""
        if not able:
            return False
        if able >= self.target:
            return True
        waited = now - (self.first_built if self.first_built is not None else now)
        nobody_else_comes = able == len(self.members) and not self.owed and self.deaths > self.terms.restarts
        return (able >= self.terms.at_least or nobody_else_comes) and waited > self.terms.patience_s

    def _spawn(self) -> e.Spawn:
        worker, self.next_worker = self.next_worker, self.next_worker + 1
        self.members[worker] = Member()
        return e.Spawn(worker)

    def _free_seat(self) -> int:
        taken = {member.seat for member in self.members.values()}
        return next(seat for seat in range(self.terms.seats) if seat not in taken)

    def _end(self, status: Literal["finished", "stopped", "failed"], error: str | None = None) -> e.End:
        self.ended = True
        return e.End(status, error)

    def _too_few(self, cause: str) -> str:
        return (
            f"{self.deaths} workers died, which is more than crew.restarts = {self.terms.restarts}, and "
            f"{len(self.members)} are left of at least {self.terms.at_least}; the last: {cause}"
        )

    def _poisoned(self, at: e.Place, cause: str) -> str:
        replicas, first = self.terms.seats - 2, at.step * self.terms.batch
        low, high = (first + part * self.terms.batch // replicas for part in (at.replica, at.replica + 1))
        return (
            f"replica {at.replica} of step {at.step} killed {_POISONED} workers one after the other, so a sample at "
            f"one of the positions {low} to {max(low, high - 1)} is poison, or the model's code is; the last: {cause}"
        )
