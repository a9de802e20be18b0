"""A view: who is in the crew, as agreed under one epoch."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from holdfast.planes.words import Words
from holdfast.step.places import Header

_NUMBER_BITS, _TERM_BITS = 16, 12
EPOCH_BITS = _NUMBER_BITS + _TERM_BITS
_TAG_BITS = 32


@dataclass(frozen=True)
class View:
    """Members in the order in which work is dealt out; the first leads."""

    epoch: int
    members: tuple[tuple[int, int], ...]
    """Pairs of worker and seat."""
    cuts: tuple[int, ...] = ()
    """Where the replicas of each member but the first begin; if there are none, all have as many as can be equal."""

    @classmethod
    def of(cls, epoch: int, members: Iterable[Iterable[int]], cuts: Iterable[int] = ()) -> "View":
        pairs = ((int(worker), int(seat)) for worker, seat in members)
        return cls(epoch, tuple(pairs), tuple(int(cut) for cut in cuts))

    @property
    def seats(self) -> list[int]:
        return [seat for _, seat in self.members]

    @cached_property
    def ranks(self) -> dict[int, int]:
        """The rank of each worker that is in the crew."""
        return {worker: rank for rank, (worker, _) in enumerate(self.members)}

    def replicas(self, count: int, rank: int) -> range:
        """The replicas that a member computes, of so many."""
        if not self.cuts:
            return self.share(count, rank)
        low = self.cuts[rank - 1] if rank else 0
        return range(low, self.cuts[rank] if rank < len(self.cuts) else count)

    def share(self, count: int, rank: int) -> range:
        """The part of `count` things that is this member's: neighbours, and as equal as can be."""
        size = len(self.members)
        return range(rank * count // size, (rank + 1) * count // size)


def epoch_after(epoch: int, term: int) -> int:
    """The next epoch of a term, higher than any of an earlier one."""
    first = term % (1 << _TERM_BITS) << _NUMBER_BITS
    return max(first, epoch) + 1


def is_of_term(epoch: int, term: int) -> bool:
    return epoch >> _NUMBER_BITS == term % (1 << _TERM_BITS)


# Which epoch is the newest stands in shared memory, in one of a few cells: that of the highest term. A captain whose
# term is over, and who does not know it yet, writes to a cell that nobody looks at, or a word that nobody believes.


def newest_epoch(header: Words) -> int | None:
    """The newest epoch proposed under the highest term; None when a captain of an old term has written over it."""
    term = header[Header.TERM]
    word = header[Header.EPOCHS + term % Header.NUM_EPOCHS]
    return word & (1 << _TAG_BITS) - 1 if word >> _TAG_BITS == term else None


def announce_epoch(header: Words, term: int, epoch: int) -> None:
    """Make it known under this term; the term itself is begun by `begin_term`."""
    if header[Header.TERM] < term:
        # A captain of the past was stopped while it began its term, and has set it back.
        header[Header.TERM] = term
    header[Header.EPOCHS + term % Header.NUM_EPOCHS] = term << _TAG_BITS | epoch


def begin_term(header: Words, term: int) -> None:
    """From now on only what is announced under this term, or a higher one, counts; the newest epoch stays."""
    announce_epoch(header, term, newest_epoch(header) or 0)
    header[Header.TERM] = max(term, header[Header.TERM])
