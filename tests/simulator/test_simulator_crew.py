"""Thousands of runs with faults at random moments, under virtual time; each is decided by its plan."""

from collections import Counter
from collections.abc import Iterable

import pytest
from plan import Plan, plan_of
from shrink import shrunk, story
from world import World

NORMAL = range(2000)
SOAK_CHUNK = 5000


@pytest.mark.timeout(600)
def test_the_law_holds_in_every_world() -> None:
    endings = judge(NORMAL)
    # A simulator in which nothing happens would show nothing.
    assert endings["finished"] > 800
    assert endings["failed"] > 400
    assert endings["stopped"] > 50


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


def test_in_a_calm_world_nothing_is_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten messages for each worker: hello, built, propose, commit and done, each with its answer."""
    monkeypatch.setattr(World, "delay", lambda self: 0.001)
    for workers in (1, 2, 5):
        world = World(Plan(7, replicas=6, workers=workers, at_least=1, restarts=0, patience_s=60.0, steps=30))
        assert world.run().status == "finished"
        assert world.wire.sent == 10 * workers


def judge(seeds: Iterable[int]) -> Counter[str]:
    endings: Counter[str] = Counter()
    for seed in seeds:
        try:
            endings[World(plan_of(seed)).run().status] += 1
        except Exception as error:
            raise AssertionError(story(plan_of(seed), shrunk(plan_of(seed)))) from error
    return endings
