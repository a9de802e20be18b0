"""Work is dealt out so that nothing is left over and nobody has much more than another."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.run.view import View


@given(st.integers(0, 500), st.integers(1, 40))
def test_shares_are_neighbours_that_leave_nothing(count: int, size: int) -> None:
    view = View(1, tuple((worker, worker) for worker in range(size)))
    shares = [view.share(count, rank) for rank in range(size)]
    assert [thing for share in shares for thing in share] == list(range(count))
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_a_view_comes_back_from_a_message() -> None:
    view = View(3, ((7, 0), (9, 2)))
    assert View.of(3, [[7, 0], [9, 2]]) == view
    assert view.seats == [0, 2]
    assert view.ranks == {7: 0, 9: 1}
