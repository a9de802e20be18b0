"""Words that others watch, and waiting for them, which always has an end."""

from collections.abc import Iterator

import pytest

from holdfast.planes import words
from holdfast.planes.words import all_at_least, wait_until, words_of


class Clock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 100.0
        self.naps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr(words, "time", clock)
    return clock


def never() -> bool:
    return False


def test_what_is_there_is_not_waited_for(clock: Clock) -> None:
    assert wait_until(lambda: True, lambda: pytest.fail("need not be asked"), 0.0)
    assert clock.naps == []


def test_what_comes_soon_is_found_without_sleeping(clock: Clock) -> None:
    asked = iter(range(1000))
    assert wait_until(lambda: next(asked) == 50, never, 0.0)
    assert clock.naps == []


def test_what_comes_late_is_found(clock: Clock) -> None:
    assert wait_until(lambda: clock.now >= 103.0, never, 5.0)
    assert 103.0 <= clock.now < 103.01


def test_a_deadline_ends_the_wait(clock: Clock) -> None:
    assert not wait_until(never, never, 2.0)
    assert 102.0 < clock.now < 102.01


def test_what_broke_ends_the_wait(clock: Clock) -> None:
    assert not wait_until(never, lambda: clock.now >= 101.0, 5.0)
    assert clock.now < 101.01


def test_what_is_reached_counts_although_it_broke_then() -> None:
    """A member that has passed a meeting has passed it for everybody."""
    calls = iter([False] * 300 + [True])
    assert wait_until(lambda: next(calls), lambda: True, 5.0)


def test_a_long_wait_sleeps_longer(clock: Clock) -> None:
    wait_until(never, never, 1.0)
    assert clock.naps[0] < 0.0001
    assert clock.naps[-1] == 0.001
    assert len(clock.naps) < 5000


def test_words_are_of_64_bits_and_shared() -> None:
    memory = bytearray(32)
    view = words_of(memoryview(memory))
    view[1] = 2**64 - 1
    assert len(view) == 4
    assert memory == bytes(8) + b"\xff" * 8 + bytes(16)


def test_all_at_least() -> None:
    cells = words_of(memoryview(bytearray(32)))
    cells[0], cells[2] = 5, 6
    assert all_at_least(cells, [0, 2], 5)
    assert not all_at_least(cells, [0, 2], 6)
    assert not all_at_least(cells, [0, 1, 2], 1)
    assert all_at_least(cells, [], 9)
