"""Thousands of runs with faults at random moments, under virtual time; each is decided by its plan."""

from collections import Counter
from collections.abc import Iterable

import pytest
from plan import plan_of
from world import World

NORMAL = range(2500)
SOAK_CHUNK = 5000


def test_the_law_holds_in_every_world() -> None:
    endings = judge(NORMAL)
    # A simulator in which nothing happens would show nothing.
    assert endings["finished"] > 500
    assert endings["failed"] > 100
    assert endings["stopped"] > 20


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("chunk", range(100_000 // SOAK_CHUNK))
def test_the_law_holds_in_very_many_worlds(chunk: int) -> None:
    start = 10_000_000 + chunk * SOAK_CHUNK
    judge(range(start, start + SOAK_CHUNK))


@pytest.mark.parametrize("seed", [3, 33, 333])
def test_a_seed_replays_exactly(seed: int) -> None:
    first, second = World(plan_of(seed)), World(plan_of(seed))
    assert first.run() == second.run()
    assert first.now == second.now
    assert first.captain == second.captain
    assert first.wire.sent == second.wire.sent


def judge(seeds: Iterable[int]) -> Counter[str]:
    endings: Counter[str] = Counter()
    for seed in seeds:
        world = World(plan_of(seed))
        try:
            endings[world.run().status] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed} at {world.now:.2f} s: {error}; replay it with World({seed})") from error
    return endings
