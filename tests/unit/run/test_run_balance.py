"""Work follows speed, and only when that pays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.run.balance import cuts_for
from holdfast.run.captain import Captain, Terms
from holdfast.run.events import Accepted, Begin, Built, Commit, Measured, Note, Propose
from holdfast.run.gauges import speeds
from holdfast.run.view import View


@pytest.mark.parametrize(
    ("measured", "replicas", "now", "cuts"),
    [
        ([10.0, 10.0], 8, [4, 4], None),
        ([10.0, 9.0], 8, [4, 4], None),
        ([10.0, 5.0], 8, [4, 4], (6,)),
        ([10.0, 1.0], 8, [4, 4], (7,)),
        ([1.0, 10.0, 10.0], 9, [3, 3, 3], (1, 5)),
        ([10.0, 1.0], 8, [7, 1], None),
        ([10.0, 10.0], 8, [7, 1], (4,)),
        ([10.0, 0.0], 8, [4, 4], None),
        ([10.0], 8, [8], None),
        ([10.0, 1.0], 2, [1, 1], None),
    ],
)
def test_cuts(measured: list[float], replicas: int, now: list[int], cuts: tuple[int, ...] | None) -> None:
    assert cuts_for(measured, replicas, now) == cuts


@given(st.lists(st.floats(0.1, 100.0), min_size=2, max_size=8), st.integers(0, 40))
def test_everybody_has_work_and_nothing_is_left(measured: list[float], more: int) -> None:
    size, replicas = len(measured), len(measured) + more
    equal = [len(View(1, ((0, 0),) * size).replicas(replicas, rank)) for rank in range(size)]
    cuts = cuts_for(measured, replicas, equal)
    view = View(1, ((0, 0),) * size, cuts or ())
    shares = [view.replicas(replicas, rank) for rank in range(size)]
    assert [replica for share in shares for replica in share] == list(range(replicas))
    assert all(shares)
    if cuts is not None:
        assert cuts_for(measured, replicas, [len(share) for share in shares]) is None


def test_speed_is_replicas_by_the_time_that_they_took() -> None:
    assert speeds([(10, 1.0), (10, 1.0), (4, 1.0)], [(30, 3.0), (12, 3.0), (4, 1.0)]) == (10.0, 0.0, 0.0)


def test_the_captain_deals_out_anew_when_it_is_told_twice() -> None:
    captain = Captain(Terms(workers=2, at_least=1, restarts=3, seats=10, patience_s=20.0))
    captain.handle(Begin(), 0.0)
    for worker in (0, 1):
        captain.handle(Built(worker, "d"), 0.0)
    for worker in (0, 1):
        captain.handle(Accepted(worker, 1), 0.0)
    assert captain.committed
    assert captain.handle(Measured((10.0, 5.0)), 1.0) == []
    assert captain.handle(Measured((10.0, 10.0)), 2.0) == []
    assert captain.handle(Measured((10.0, 5.0)), 3.0) == []
    note, proposal = captain.handle(Measured((10.0, 5.0)), 4.0)
    assert isinstance(note, Note)
    assert proposal == Propose(View(2, ((0, 0), (1, 1)), (6,)), (0, 1))
    assert captain.handle(Measured((10.0, 5.0)), 5.0) == []
    captain.handle(Accepted(0, 2), 6.0)
    assert captain.handle(Accepted(1, 2), 6.0) == [Commit(View(2, ((0, 0), (1, 1)), (6,)))]
    assert [captain.handle(Measured((10.0, 5.0)), now) for now in (7.0, 8.0)] == [[], []]
