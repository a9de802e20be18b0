"""A worker's duty towards the captain: its side of the protocol. A pure state machine, as the captain's side is.

Messages may be lost, come twice, late, and in any order. What the captain wants of a worker, it tells again until the
worker has answered, so a worker answers whenever it is told; what a worker has to tell, it tells again until the
captain has heard it. A message of a lower term than the highest one known is not heard; a proposal older than one
that is known is of the past; and no epoch is worked under twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from holdfast.planes.channel import Message
from holdfast.run.backoff import BackOff
from holdfast.run.view import View

_RETRY_S = 0.25
"""After how long a captain that is not there is looked for again."""
_KEPT = 16
"""Evaluations that are kept for a captain to come."""

# What happened:


@dataclass(frozen=True)
class Noticed:
    """Shared memory tells of a captain of this term."""

    term: int


@dataclass(frozen=True)
class Heard:
    """A message has come."""

    message: Message


@dataclass(frozen=True)
class Cut:
    """There is no line to a captain; this may be said again and again."""


@dataclass(frozen=True)
class Said:
    """The worker has something to tell that every captain must know: built, leaves, failed, evaluated."""

    message: Message


@dataclass(frozen=True)
class Rested:
    """Stepping under the view is over, and the worker is at a safe point."""

    outcome: Literal["interrupted", "finished", "stopped"]


@dataclass(frozen=True)
class Tick:
    """Time has passed."""


Event = Noticed | Heard | Cut | Said | Rested | Tick

# What is to be done:


@dataclass(frozen=True)
class Greet:
    """Find the captain in office, on a new line, and say this to it first."""

    message: Message


@dataclass(frozen=True)
class Send:
    """If there is no line, this may be forgotten: it will be told again."""

    message: Message


@dataclass(frozen=True)
class Work:
    """Step under this view; `Rested` when that is over."""

    view: View


@dataclass(frozen=True)
class Leave:
    """End: nothing is left to do here."""


Action = Greet | Send | Work | Leave
Key = tuple[str, int]


@dataclass
class Duty:
    """All that a worker knows of captains and views, and what it told. Changed by `handle` only."""

    worker: int
    term: int = 0
    """The highest known."""
    known: bool = False
    """Whether the captain of that term has welcomed this worker."""
    proposed: View = field(default_factory=lambda: View(0, ()))
    """The newest that it was asked to agree to; while it works under another it cannot agree yet."""
    agreed: int = 0
    begun: int = 0
    working: bool = False
    _facts: dict[Key, Message] = field(default_factory=dict)
    _unheard: set[Key] = field(default_factory=set)
    _greeting: BackOff = field(default_factory=BackOff)
    _telling: BackOff = field(default_factory=BackOff)

    def handle(self, event: Event, now: float) -> list[Action]:
        """Decide. `now` is of any clock that does not run backwards."""
        return list(self._decide(event, now))

    @property
    def due_at(self) -> float | None:
        """When the next tick has something to do, if nothing else happens."""
        if not self.known:
            return self._greeting.due_at
        return self._telling.due_at if self._unheard else None

    def _decide(self, event: Event, now: float) -> Iterator[Action]:
        match event:
            case Noticed(term) if term > self.term:
                self._serve(term, now)
                self._seek(now)
            case Heard(message) if message["term"] >= self.term:
                yield from self._obey(message, now)
            case Cut():
                self._seek(now)
            case Said(message):
                yield from self._say(message, now)
            case Rested(outcome):
                yield from self._rest(outcome, now)
            case Tick():
                yield from self._tick(now)

    def _serve(self, term: int, now: float) -> None:
        """Another captain must know all that was told to the one before."""
        self.term = term
        self._unheard = set(self._facts)
        self._telling.tell(now)

    def _seek(self, now: float) -> None:
        if self.known:
            self.known = False
            self._greeting.begin(now)
        else:
            # The one that was greeted is not there, or its welcome has come and was not read yet.
            self._greeting.hasten(now + _RETRY_S)

    def _obey(self, message: Message, now: float) -> Iterator[Action]:
        if message["term"] > self.term:
            self._serve(message["term"], now)
            self._seek(now)
        match message["kind"]:
            case "welcome":
                self.known = True
                # The greeting has told all but these, which may be many.
                yield from (
                    Send(self._facts[key]) for key in self._facts if key in self._unheard and _is_one_of_many(key)
                )
            case "propose":
                yield from self._consider(View.of(message["epoch"], message["members"], message["cuts"]))
            case "commit":
                yield from self._begin(message["epoch"])
            case "heard":
                self._unheard.discard((message["what"], message["number"]))
                self._forget()
            case "quit":
                yield Leave()

    def _consider(self, view: View) -> Iterator[Action]:
        if view.epoch > self.proposed.epoch:
            self.proposed = view
        if view.epoch == self.proposed.epoch and not self.working:
            yield self._agree()

    def _agree(self) -> Action:
        if self.agreed != self.proposed.epoch:
            self._facts = {key: message for key, message in self._facts.items() if key[0] != "done"}
            self._unheard &= self._facts.keys()
        self.agreed = self.proposed.epoch
        return Send({"kind": "accepted", "epoch": self.agreed})

    def _begin(self, epoch: int) -> Iterator[Action]:
        if not epoch == self.agreed == self.proposed.epoch or self.worker not in self.proposed.ranks:
            return
        if self.working or self.begun < epoch:
            yield Send({"kind": "running", "epoch": epoch})
        if self.begun < epoch:
            self.begun, self.working = epoch, True
            yield Work(self.proposed)

    def _rest(self, outcome: str, now: float) -> Iterator[Action]:
        self.working = False
        if self.proposed.epoch > self.agreed:
            yield self._agree()
        elif outcome != "interrupted":
            yield from self._say({"kind": "done", "epoch": self.begun, "stopped": outcome == "stopped"}, now)

    def _say(self, message: Message, now: float) -> Iterator[Action]:
        key = _key(message)
        if key in self._facts:
            return
        self._facts[key] = message
        self._unheard.add(key)
        self._forget()
        self._telling.tell(now)
        yield Send(message)

    def _forget(self) -> None:
        """Of many evaluations those that were heard, but for the last one, and the oldest."""
        many = [key for key in self._facts if _is_one_of_many(key)]
        for key in many[:-1]:
            if key not in self._unheard or key in many[:-_KEPT]:
                self._unheard.discard(key)
                del self._facts[key]

    def _tick(self, now: float) -> Iterator[Action]:
        if not self.known:
            if self._greeting.is_due(now):
                yield Greet(self._hello())
        elif self._unheard and self._telling.is_due(now):
            yield from (Send(message) for key, message in self._facts.items() if key in self._unheard)

    def _hello(self) -> Message:
        told = [message for key, message in self._facts.items() if not _is_one_of_many(key)]
        if self.agreed:
            told.append({"kind": "accepted", "epoch": self.agreed})
        if self.working:
            told.append({"kind": "running", "epoch": self.begun})
        return {"kind": "hello", "worker": self.worker, "term": self.term, "told": told}


def _key(message: Message) -> Key:
    return message["kind"], message.get("epoch") or message.get("step") or 0


def _is_one_of_many(key: Key) -> bool:
    return key[0] == "evaluated"
