"""The captain: decides who is in the crew. A pure state machine, without a clock, a socket or a thread.

`handle` takes one event and the time, and returns what is to be done about it. The crew's driver carries that out in
production; a simulator does so in the tests.

A view changes in two phases. The captain proposes it under a new epoch to all who may be working; each comes to a
safe point and accepts; when all have, the captain commits it and its members go on. Any change before that begins a
newer epoch. A worker is left out only once its process has ended or it has accepted to be left out, so nobody outside
the view can still write.

Messages may be lost, come twice, late, and in any order. Whoever has not answered is told again, with a back-off: the
proposal until it accepts, the commit until it says that it runs, to go until it is gone. What it has heard it confirms.

A captain acts under a term, which is part of every epoch it gives out. Its successor has a higher term, begins with the
standing that it left, and goes on under the committed view as if nothing had happened.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from holdfast.run import events as e
from holdfast.run.backoff import BackOff
from holdfast.run.balance import cuts_for
from holdfast.run.roster import Member, Roster
from holdfast.run.verdicts import another_model, poisoned, too_few
from holdfast.run.view import View, epoch_after, is_of_term

_POISONED = 3
"""Deaths in a row at one place of the job after which the place is to blame."""
_UNSEEN_S = 0.5
"""Of the time from one look to the next, no more counts: a captain that was away could hear nobody."""


@dataclass(frozen=True)
class Terms:
    """What the captain is bound to."""

    workers: int
    at_least: int
    restarts: int
    seats: int
    patience_s: float
    batch: int = 0
    grace_s: float = 30.0


@dataclass
class Captain:
    """All that is decided so far. Changed by `handle` only."""

    terms: Terms
    term: int = 0
    target: int = -1
    roster: Roster = field(init=False)
    members: dict[int, Member] = field(default_factory=dict)
    view: View = field(default_factory=lambda: View(0, ()))
    committed: bool = False
    awaited: set[int] = field(default_factory=set)
    """Who has not accepted the view, or, once it is committed, not said that it runs."""
    outside: int = 0
    """How many of the view cannot be in the next one."""
    done: set[int] = field(default_factory=set)
    released: dict[int, float] = field(default_factory=dict)
    """Who may go, and since when."""
    leaving: dict[int, float] = field(default_factory=dict)
    """Who is to go, and since when."""
    deaths: int = 0
    owed: int = 0
    next_worker: int = 0
    digest: str | None = None
    paused: bool = False
    leads: bool = True
    """A successor does not before it has been told of all the deaths that nobody saw, and to take over."""
    ended: bool = False
    time: float = 0.0
    """The seconds in which this captain was there to look. All moments below are of this time."""
    looked_at: float | None = None
    first_built: float | None = None
    respawn_at: float | None = None
    asked_at: float = 0.0
    reminder: BackOff = field(default_factory=BackOff)
    unbalanced_in: int | None = None
    """The epoch in which it was last seen that work could be dealt out better."""
    died_at: tuple[e.Place, int] | None = None
    """Where the last worker died, and how many have died there in a row."""

    def __post_init__(self) -> None:
        self.roster = Roster(self.terms.seats, self.members)
        self.outside = sum(not self.roster.is_ready(worker) for worker in self.view.ranks)
        if self.target < 0:
            self.target = self.terms.workers

    def standing(self) -> dict[str, Any]:
        """What a successor must know, as plain data."""
        return {
            "target": self.target,
            "members": {str(worker): dict(vars(member)) for worker, member in self.members.items()},
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
        """Goes on from the standing of a captain with a lower term, once it is told `TakeOver`."""
        plain = dict(standing)
        members = {int(worker): Member(**{**m, "doomed": False}) for worker, m in plain.pop("members").items()}
        view = View.of(plain.pop("epoch"), plain.pop("view"), plain.pop("cuts"))
        return cls(terms, term, members=members, view=view, leads=False, **plain)

    def asked(self) -> tuple[int, ...]:
        """Who may be working, and so must agree to a change: all that ever had a seat."""
        return tuple(sorted(self.roster.seated))

    def expected(self) -> list[tuple[int, int]]:
        """Who is to make progress just now: the view's members, with their seats, but for those who are done."""
        return [pair for pair in self.view.members if pair[0] not in self.done] if self.committed else []

    def handle(self, event: e.Event, now: float) -> list[e.Action]:
        """Decide. Events about workers that are not known (any more) change nothing. `now` is of any clock."""
        if self.looked_at is not None:
            self.time += min(max(0.0, now - self.looked_at), _UNSEEN_S)
        self.looked_at = now
        if self.ended:
            return []
        worker = getattr(event, "worker", None)
        if worker is not None and worker not in self.members:
            return []
        return list(self._decide(event))

    def _decide(self, event: e.Event) -> Iterator[e.Action]:
        match event:
            case e.Begin():
                for _ in range(self.target):
                    yield self._spawn()
            case e.TakeOver(newest_epoch):
                yield from self._take_over(newest_epoch)
            case e.Lost(worker, cause, at):
                yield from self._lost(worker, cause, at)
            case e.Hung(worker, cause) if not self.members[worker].doomed:
                yield from self._doom(worker, cause)
            case e.Measured(speeds) if self.committed and len(speeds) == len(self.view.members):
                yield from self._balance(speeds)
            case e.Tick():
                yield from self._tick()
            case e.Leaves() | e.Drain() | e.Scale() | e.Pause() | e.Unpause():
                yield from self._wished(event)
            case _:
                yield from self._told(event)

    def _told(self, event: e.Event) -> Iterator[e.Action]:
        """What workers say; any of it may come again, and late."""
        match event:
            case e.Built(worker, digest):
                yield e.Confirm(worker, "built")
                if not self.members[worker].built:
                    yield from self._built(worker, digest)
            case e.Accepted(worker, epoch) if epoch == self.view.epoch and not self.committed:
                self.awaited.discard(worker)
                yield from self._commit_if_agreed()
            case e.Running(worker, epoch) if epoch == self.view.epoch and self.committed:
                self.awaited.discard(worker)
            case e.Done(worker, epoch, stopped):
                yield e.Confirm(worker, "done", epoch)
                if epoch == self.view.epoch and self.committed and worker in self.view.ranks:
                    yield from self._done(worker, stopped)
            case e.Evaluated(worker, step):
                yield e.Confirm(worker, "evaluated", step)
            case e.Greeted(worker) if worker in self.released:
                yield e.Release(worker)
            case e.Greeted(worker) if worker in self.awaited:
                yield e.Remind(self.view, (worker,), self.committed)
            case e.Failed(worker, error):
                yield e.Note("failed", error, worker)
                yield self._end("failed", error)

    def _wished(self, event: e.Event) -> Iterator[e.Action]:
        """What people want of the crew while it works."""
        match event:
            case e.Leaves(worker):
                yield e.Confirm(worker, "leaves")
                if not self.members[worker].leaving:
                    yield e.Note("leaving", f"worker {worker} was given notice, so it leaves", worker)
                    self.owed += 1
                    self.respawn_at = self.time
                    yield from self._let_go([worker])
            case e.Drain(worker) if not self.members[worker].leaving:
                self.target = max(1, self.target - 1)
                yield e.Note("leaving", f"worker {worker} is asked to leave", worker)
                yield from self._let_go([worker])
            case e.Scale(workers):
                yield e.Note("scaled", f"the crew is to have {workers} worker{'s' * (workers != 1)}")
                yield from self._scale(workers)
            case e.Pause() if not self.paused:
                self.paused = True
                yield e.Note("paused", "the run is paused")
                yield from self._revise()
            case e.Unpause() if self.paused:
                self.paused = False
                yield e.Note("unpaused", "the run goes on")
                yield from self._revise()

    def _take_over(self, newest_epoch: int) -> Iterator[e.Action]:
        """A view that all agreed to goes on undisturbed; one that was only proposed is proposed anew.

        So it is when workers were asked for a newer one that is not in the standing: they wait for it.
        """
        self.leads = True
        missing = self.target - self.roster.staying
        if self.deaths > self.terms.restarts and len(self.members) < self.terms.at_least:
            yield self._end("failed", self._too_few("the captain"))
            return
        if self.deaths <= self.terms.restarts and missing > 0:
            self.owed = missing
        if self.owed:
            self.respawn_at = self.time
        if any(member.built for member in self.members.values()):
            self.first_built = self.time
        is_settled = self.committed and newest_epoch <= self.view.epoch
        if self.view.epoch and not is_settled and (self.paused or self.roster.seated):
            yield from self._propose()
        elif self.committed:
            self.reminder.tell(self.time)
            self.awaited = set(self.view.ranks) & self.members.keys()
            yield from self._release()
        self.leaving = {worker: self.time for worker, member in self.members.items() if member.leaving}
        for worker, member in self.members.items():
            if member.leaving and member.seat is None:
                yield e.Kill(worker)  # the captain before may have died when it was about to
        yield from self._revise()

    def _built(self, worker: int, digest: str) -> Iterator[e.Action]:
        if self.digest is None:
            self.digest = digest
        if digest != self.digest:
            text = another_model(worker, digest, self.digest)
            yield e.Note("failed", text, worker)
            yield self._end("failed", text)
            return
        self.roster.build(worker)
        if self.first_built is None:
            self.first_built = self.time
        yield from self._revise()

    def _commit_if_agreed(self) -> Iterator[e.Action]:
        mine = self.view.epoch and is_of_term(self.view.epoch, self.term)
        if self.awaited or self.committed or not mine or not self.members.keys() >= self.view.ranks.keys():
            return
        self.committed = True
        self.awaited = set(self.view.ranks)
        self.reminder.tell(self.time)
        yield e.Commit(self.view)
        yield from self._release()

    def _release(self) -> Iterator[e.Action]:
        """Who is to leave, and is in no view any more, is at a safe point."""
        for worker in self.asked():
            if self.members[worker].leaving and worker not in self.view.ranks and worker not in self.released:
                self.released[worker] = self.time
                yield e.Release(worker)

    def _done(self, worker: int, stopped: bool) -> Iterator[e.Action]:
        if not self.done:
            self.asked_at = self.time
        self.awaited.discard(worker)
        self.done.add(worker)
        if len(self.done) == len(self.view.members):
            yield self._end("stopped" if stopped else "finished")

    def _lost(self, worker: int, cause: str, at: e.Place | None) -> Iterator[e.Action]:
        member = self.roster.remove(worker)
        self.awaited.discard(worker)
        self.released.pop(worker, None)
        self.leaving.pop(worker, None)
        if member.leaving:
            yield e.Note("left", f"worker {worker} left", worker)
        else:
            self.outside += worker in self.view.ranks
            yield e.Note("died", cause, worker)
            yield from self._count_death(member, cause, at)
        if self.ended or not self.leads:
            return
        if not self.members and not self.owed:
            yield self._end("failed", self._too_few(cause))
            return
        yield from self._tick()
        yield from self._revise()
        yield from self._commit_if_agreed()

    def _count_death(self, member: Member, cause: str, at: e.Place | None) -> Iterator[e.Action]:
        self.deaths += 1
        before = self.died_at[1] if self.died_at is not None and self.died_at[0] == at else 0
        self.died_at = None if at is None else (at, before + 1)
        if at is not None and before + 1 >= _POISONED:
            text = poisoned(at, before + 1, self.terms.seats - 2, self.terms.batch, cause)
            yield self._end("failed", text)
        elif self.deaths <= self.terms.restarts:
            self.owed += 1
            if self.respawn_at is None:
                # A crew that dies while it is being built would otherwise be replaced as fast as it can die.
                self.respawn_at = self.time if member.built else self.time + min(10.0, 0.25 * 2 ** min(self.deaths, 6))
        elif len(self.members) < self.terms.at_least:
            yield self._end("failed", self._too_few(cause))

    def _balance(self, speeds: tuple[float, ...]) -> Iterator[e.Action]:
        """Work follows speed, but not every whim of it: twice in a row it must be worth while."""
        replicas = self.terms.seats - 2
        dealt = [len(self.view.replicas(replicas, rank)) for rank in range(len(speeds))]
        cuts = None if self.done or self.outside else cuts_for(speeds, replicas, dealt)
        if cuts is not None and self.unbalanced_in == self.view.epoch:
            told = (
                f"{speed:.3g} of worker {worker}" for (worker, _), speed in zip(self.view.members, speeds, strict=True)
            )
            yield e.Note("balanced", f"work follows speed, in replicas/s: {', '.join(told)}")
            yield from self._propose(cuts)
            cuts = None
        self.unbalanced_in = None if cuts is None else self.view.epoch

    def _scale(self, workers: int) -> Iterator[e.Action]:
        self.target = workers
        self.owed = max(0, workers - self.roster.staying)
        self.respawn_at = self.time if self.owed else None
        staying = sorted(worker for worker, member in self.members.items() if not member.leaving)
        yield from self._let_go(staying[workers:])

    def _let_go(self, workers: list[int]) -> Iterator[e.Action]:
        """Whoever has no seat has nothing to finish."""
        for worker in workers:
            self.roster.leave(worker)
            self.leaving[worker] = self.time
            self.outside += worker in self.view.ranks
            if self.members[worker].seat is None:
                yield e.Kill(worker)
        yield from self._tick()
        yield from self._revise()
        if self.committed:
            yield from self._release()

    def _tick(self) -> Iterator[e.Action]:
        if self.respawn_at is not None and self.time >= self.respawn_at:
            self.respawn_at = None
            for _ in range(min(self.owed, self.target - self.roster.staying)):
                yield self._spawn()
            self.owed = 0
        if self.view.epoch == 0:
            yield from self._revise()
        yield from self._hurry()
        yield from self._remind()

    def _hurry(self) -> Iterator[e.Action]:
        """Nobody is waited for without end: for its consent, to come to the end when others have, or to go."""
        late = {worker for worker, since in self.released.items() if self._is_over(since)}
        if self._is_over(self.asked_at):
            if self.done:
                late |= self.view.ranks.keys() - self.done
            elif not self.committed:
                late |= self.awaited
        for worker in sorted(late):
            if worker in self.members and not self.members[worker].doomed:
                yield from self._doom(worker, f"worker {worker} did not answer for {self.terms.patience_s:g} s")
        for worker, since in self.leaving.items():
            # Who is the last one works on until another can.
            over = self.time - since > self.terms.grace_s and self.roster.num_able
            if over and not self.members[worker].doomed:
                yield from self._doom(worker, f"worker {worker} was still there {self.terms.grace_s:g} s after notice")

    def _is_over(self, since: float) -> bool:
        return self.time - since > self.terms.patience_s

    def _remind(self) -> Iterator[e.Action]:
        if not self.reminder.is_due(self.time):
            return
        if self.awaited:
            yield e.Remind(self.view, tuple(sorted(self.awaited)), self.committed)
        for worker in self.released:
            yield e.Release(worker)

    def _doom(self, worker: int, cause: str) -> Iterator[e.Action]:
        self.members[worker].doomed = True
        yield e.Note("hung", cause, worker)
        yield e.Kill(worker)

    def _revise(self) -> Iterator[e.Action]:
        """Propose a view of all who can work, if it is another than the last one."""
        able = 0 if self.paused else self.roster.num_able
        if self.view.epoch == 0 and not self._may_begin(able):
            return
        if able or self.paused:
            # All of the view had a seat, so it is the same if nobody fell out of it and there are as many.
            if self.outside or able != len(self.view.members):
                yield from self._propose()
        elif not (self.committed and self.members.keys() >= self.view.ranks.keys()):
            # There is nobody else, so who is to leave works on.
            last = [worker for worker in self.asked() if worker not in self.released]
            if last and last != list(self.view.ranks):
                yield from self._propose()

    def _propose(self, cuts: tuple[int, ...] = ()) -> Iterator[e.Action]:
        able = [] if self.paused else self.roster.muster()
        if not (able or self.paused):
            able = [worker for worker in self.asked() if worker not in self.released]
        members = tuple((worker, self.members[worker].seat or 0) for worker in able)
        self.view = View(epoch_after(self.view.epoch, self.term), members, cuts)
        self.awaited = set(self.roster.seated)
        self.outside = sum(not self.roster.is_ready(worker) for worker in able)
        self.done, self.committed = set(), False
        self.asked_at = self.time
        self.reminder.tell(self.time)
        yield e.Propose(self.view, self.asked())

    def _may_begin(self, able: int) -> bool:
        """The first view waits for everybody, but not for ever."""
        if not able:
            return False
        if able >= self.target:
            return True
        waited = self.time - (self.first_built if self.first_built is not None else self.time)
        nobody_else_comes = able == len(self.members) and not self.owed and self.deaths > self.terms.restarts
        return (able >= self.terms.at_least or nobody_else_comes) and waited > self.terms.patience_s

    def _spawn(self) -> e.Spawn:
        worker, self.next_worker = self.next_worker, self.next_worker + 1
        self.roster.add(worker)
        return e.Spawn(worker)

    def _end(self, status: Literal["finished", "stopped", "failed"], error: str | None = None) -> e.End:
        self.ended = True
        return e.End(status, error)

    def _too_few(self, cause: str) -> str:
        return too_few(self.deaths, self.terms.restarts, len(self.members), self.terms.at_least, cause)
