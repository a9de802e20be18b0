"""A view: who is in the crew, as agreed under one epoch."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """Members in the order in which work is dealt out; the first leads."""

    epoch: int
    members: tuple[tuple[int, int], ...]
    """Pairs of worker and seat."""

    @classmethod
    def of(cls, epoch: int, members: Iterable[Iterable[int]]) -> "View":
        pairs = ((int(worker), int(seat)) for worker, seat in members)
        return cls(epoch, tuple(pairs))

    @property
    def seats(self) -> list[int]:
        return [seat for _, seat in self.members]

    def place_of(self, worker: int) -> int:
        """The worker's rank; raises ValueError for one that is not in the crew."""
        return [member for member, _ in self.members].index(worker)

    def share(self, count: int, rank: int) -> range:
        """The part of `count` things that is this member's: neighbours, and as equal as can be."""
        size = len(self.members)
        return range(rank * count // size, (rank + 1) * count // size)
