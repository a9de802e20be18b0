"""The roster: which workers there are, and what is to be known of all of them at once, without looking at each."""

import heapq
from dataclasses import dataclass, field


@dataclass
class Member:
    """A worker whose process has not ended, as far as is known."""

    built: bool = False
    seat: int | None = None
    doomed: bool = False
    leaving: bool = False


@dataclass
class Roster:
    """Changed by its methods only, each of which costs the same however many members there are; `muster` does not."""

    seats: int
    members: dict[int, Member] = field(default_factory=dict)
    staying: int = field(init=False)
    """How many are not asked to leave."""
    seated: set[int] = field(init=False)
    """All that ever had a seat: who may be working."""
    _ready: set[int] = field(init=False)
    """Who can work, and has a seat."""
    _waiting: set[int] = field(init=False)
    """Who could work, and has none."""
    _free: list[int] = field(init=False)

    def __post_init__(self) -> None:
        members = self.members.items()
        able = {worker for worker, member in members if member.built and not member.leaving}
        self.staying = sum(not member.leaving for _, member in members)
        self.seated = {worker for worker, member in members if member.seat is not None}
        self._ready, self._waiting = able & self.seated, able - self.seated
        taken = {member.seat for _, member in members}
        self._free = [seat for seat in range(self.seats) if seat not in taken]  # sorted, and so a heap

    @property
    def num_able(self) -> int:
        """How many could be in the next view; seats may be short for a while, until who leaves is gone."""
        return len(self._ready) + min(len(self._waiting), len(self._free))

    def is_ready(self, worker: int) -> bool:
        return worker in self._ready

    def add(self, worker: int) -> None:
        self.members[worker] = Member()
        self.staying += 1

    def build(self, worker: int) -> None:
        member = self.members[worker]
        member.built = True
        if not member.leaving:
            self._waiting.add(worker)

    def leave(self, worker: int) -> None:
        self.members[worker].leaving = True
        self.staying -= 1
        self._ready.discard(worker)
        self._waiting.discard(worker)

    def remove(self, worker: int) -> Member:
        member = self.members.pop(worker)
        self.staying -= not member.leaving
        self._ready.discard(worker)
        self._waiting.discard(worker)
        self.seated.discard(worker)
        if member.seat is not None:
            heapq.heappush(self._free, member.seat)
        return member

    def muster(self) -> list[int]:
        """All that are able, in order; newcomers get a seat as long as there are any."""
        for worker in heapq.nsmallest(len(self._free), self._waiting):
            self.members[worker].seat = heapq.heappop(self._free)
            self._waiting.remove(worker)
            self._ready.add(worker)
            self.seated.add(worker)
        return sorted(self._ready)
