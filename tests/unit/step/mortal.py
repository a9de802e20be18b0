"""Death at any moment: a worker whose stores to shared memory end when its time has come.

A moment is a point of `holdfast.faults`, just before and just after a store to a shared word, or a place that a test
names. What is torn by the death may be said with it, since a process can die in the middle of changing a tensor.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from holdfast.step.memory import Memory

_PLACES = (
    "holdfast.step.apply.fence",
    "holdfast.run.gathering.fence",
    "holdfast.run.gathering.reached",
    "holdfast.run.stepper.fence",
    "holdfast.run.stepper.reached",
)


class Death(BaseException):
    """Not an Exception, so no production code takes it for an error."""


class Fuse:
    """Blows before the moment with this number."""

    def __init__(self, moments: int) -> None:
        self.left = moments
        self.blown = False

    def moment(self, tear: Callable[[], None] | None = None) -> None:
        if self.blown:
            return  # what runs after the death does so in Python only
        self.left -= 1
        if self.left < 0:
            if tear is not None:
                tear()
            self.blown = True
            raise Death


class MortalWords:
    """Shared words to which the dead write no more."""

    def __init__(self, words: Any, fuse: Fuse) -> None:
        self._words = words
        self._fuse = fuse

    def __getitem__(self, place: int) -> int:
        return int(self._words[place])

    def __setitem__(self, place: int, value: int) -> None:
        self._fuse.moment()
        if not self._fuse.blown:
            self._words[place] = value
        self._fuse.moment()

    def tolist(self) -> list[int]:
        return list(self._words.tolist())


@contextmanager
def mortal(memory: Memory, fuse: Fuse) -> Iterator[None]:
    """Inside, whoever works with this memory object lives as long as the fuse, and the death ends the block."""
    words = ("done", "begun", "seats", "table", "header", "chunks")
    for name in words:
        memory.__dict__[name] = MortalWords(getattr(memory, name), fuse)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for place in _PLACES:
                patch.setattr(place, lambda point: fuse.moment())
            yield
    except Death:
        pass
    finally:
        for name in words:
            del memory.__dict__[name]


def each_moment() -> Iterator[Fuse]:
    """Fuses that blow earlier first; ends with the first one that did not blow."""
    for moments in count():
        fuse = Fuse(moments)
        yield fuse
        if not fuse.blown:
            assert moments > 0
            return
