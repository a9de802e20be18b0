"""A run's shared memory, as far as the captain's side looks at it."""

import os
from collections.abc import Iterator

import pytest

from holdfast.planes.arena import PAGE, Arena, create
from holdfast.planes.words import words_of
from holdfast.run.gauges import Gauges
from holdfast.step.places import HISTORY, SEAT_WORDS

STEPS, SEATS = 100, 4
_SEATS_AT, _HISTORY_AT, _TIMES_AT, _SHADOW_AT = 1024, PAGE, 2 * PAGE, 3 * PAGE
LAYOUT = {
    "size": 5 * PAGE,
    "seats": _SEATS_AT,
    "num_seats": SEATS,
    "history": _HISTORY_AT,
    "times": _TIMES_AT,
    "steps": STEPS,
    "shadow": _SHADOW_AT,
    "shadow_bytes": PAGE,
}


class Board:
    """The gauges, and a hand to write what workers would write."""

    def __init__(self, descriptor: int) -> None:
        arena = Arena(descriptor, max(LAYOUT["size"], os.fstat(descriptor).st_size))
        self.gauges = Gauges(arena, LAYOUT)
        self.header = words_of(arena.bytes_at(0, 512))
        self.shadow = arena.bytes_at(_SHADOW_AT, PAGE)
        self._seats = words_of(arena.bytes_at(_SEATS_AT, 8 * SEAT_WORDS * SEATS))
        self._history = arena.bytes_at(_HISTORY_AT, 8 * len(HISTORY) * STEPS).cast("d")
        self._times = arena.bytes_at(_TIMES_AT, 8 * STEPS).cast("d")

    def seat(self, seat: int, place: int, value: int) -> None:
        self._seats[seat * SEAT_WORDS + place] = value

    def row(self, step: int, loss: float, samples: float, time: float) -> None:
        for column, value in enumerate((loss, samples, 0.0, 0.1)):
            self._history[step * len(HISTORY) + column] = value
        self._times[step] = time


@pytest.fixture
def board() -> Iterator[Board]:
    descriptor = create("test")
    yield Board(descriptor)
    os.close(descriptor)
