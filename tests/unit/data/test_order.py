"""The order is a permutation for every size, one integer is the whole position, and shares add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.order import LastBatch, Order, Permutation
from holdfast.errors import DataError

SEEDS = st.integers(0, 2**64 - 1)


@given(st.integers(1, 3000), SEEDS)
def test_each_sample_comes_exactly_once(n: int, seed: int) -> None:
    assert np.array_equal(np.sort(Permutation(n, seed).indices(0, n)), np.arange(n))


@pytest.mark.parametrize("n", [2**17 - 1, 2**17, 2**17 + 1, 300_000])
def test_each_of_many_samples_comes_exactly_once(n: int) -> None:
    assert np.array_equal(np.sort(Permutation(n, 5).indices(0, n)), np.arange(n))


@given(st.integers(1, 10**12), SEEDS, st.data())
def test_any_part_can_be_asked_for_alone(n: int, seed: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(start, min(n, start + 50)))
    permutation = Permutation(n, seed)
    part = permutation.indices(start, stop)
    assert part.tolist() == [int(permutation.at(np.array([position]))[0]) for position in range(start, stop)]
    assert len(set(part.tolist())) == stop - start
    assert all(0 <= index < n for index in part.tolist())


def test_order_never_changes() -> None:
    assert Permutation(10, 0).indices(0, 10).tolist() == [9, 0, 3, 1, 5, 8, 6, 7, 4, 2]
    assert Permutation(10**10, 1).indices(0, 3).tolist() == [601689046, 9340863917, 8096359666]


def test_ten_billion_samples_need_no_memory() -> None:
    assert len(Permutation(10**10, 0).indices(10**10 - 5, 10**10)) == 5


@pytest.mark.parametrize("n", [97, 1000, 70_001, 10**7])
def test_first_pairs_are_uniform_over_seeds(n: int) -> None:
    bins, seeds = 50, 5000
    firsts = np.array([Permutation(n, seed).indices(0, 2) for seed in range(seeds)])
    for values in (firsts[:, 0], (firsts[:, 1] - firsts[:, 0]) % n):
        counts = np.histogram(values, bins, range=(0, n))[0]
        widths = np.histogram(np.arange(n), bins, range=(0, n))[0] if n < 10**6 else np.ones(bins)
        expected = seeds * widths / widths.sum()
        assert ((counts - expected) ** 2 / expected).sum() < 100  # 49 degrees of freedom: beyond 1 in 10,000


def test_consecutive_samples_are_not_correlated() -> None:
    indices = Permutation(200_000, 3).indices(0, 200_000)
    for lag in (1, 2, 64, 4096):
        assert abs(np.corrcoef(indices[:-lag], indices[lag:])[0, 1]) < 0.01


@given(
    st.integers(1, 500),
    st.integers(1, 70),
    st.integers(1, 9),
    st.integers(0, 60),
    st.sampled_from(["partial", "drop"]),
)
def test_shares_of_the_replicas_are_the_batch(n: int, batch: int, replicas: int, step: int, last: LastBatch) -> None:
    if last == "drop" and n < batch:
        return
    order = Order(n, batch, 7, last)
    shares = [order.slice(step, replica, replicas).copy() for replica in range(replicas)]
    assert np.concatenate(shares).tolist() == order.indices(step).tolist()
    assert len(order.indices(step)) == order.count(step)
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 400), st.integers(1, 50))
def test_an_epoch_has_each_sample_once_and_the_next_is_another_order(n: int, batch: int) -> None:
    order = Order(n, batch, 3)
    epochs = [
        np.concatenate([order.indices(step) for step in range(start, start + order.steps_per_epoch)])
        for start in (0, order.steps_per_epoch)
    ]
    assert all(sorted(epoch.tolist()) == list(range(n)) for epoch in epochs)
    assert n < 20 or epochs[0].tolist() != epochs[1].tolist()


def test_resuming_in_the_middle_gives_the_same_batches() -> None:
    straight, jumping = Order(30_000, 64, 1), Order(30_000, 64, 1)
    batches = {step: straight.slice(step, 1, 3).tolist() for step in range(900)}
    for step in (899, 3, 468, 469, 0, 467, 128):
        assert jumping.slice(step, 1, 3).tolist() == batches[step]


def test_batches_larger_than_what_is_computed_ahead() -> None:
    order = Order(50_000, 20_000, 1)
    epoch = np.concatenate([order.slice(step, replica, 2) for step in range(3) for replica in range(2)])
    assert np.array_equal(np.sort(epoch), np.arange(50_000))


def test_replicas_without_samples_do_not_keep_the_last_epoch() -> None:
    running = Order(3, 3, 1)
    for step in range(20):
        shares = [running.slice(step, replica, 5) for replica in range(5)]
        assert np.concatenate(shares).tolist() == Order(3, 3, 1).indices(step).tolist()


def test_partial_and_dropped_last_batches() -> None:
    assert [Order(10, 4, 0).count(step) for step in range(4)] == [4, 4, 2, 4]
    assert [Order(10, 4, 0, "drop").count(step) for step in range(4)] == [4, 4, 4, 4]
    assert Order(10, 4, 0, "drop").steps_per_epoch == 2
    assert Order(10, 64, 0).count(5) == 10


def test_impossible_orders_are_refused() -> None:
    with pytest.raises(DataError, match="3 samples do not fill one batch of 4"):
        Order(3, 4, 0, "drop")
    with pytest.raises(DataError, match="at least one sample, not 0"):
        Permutation(0, 0)
    with pytest.raises(DataError, match="5:11 are not within the 10 samples"):
        Permutation(10, 0).indices(5, 11)
    with pytest.raises(DataError, match="-1 to 3 are not within the 10 samples"):
        Permutation(10, 0).at(np.array([-1, 3]))
    with pytest.raises(DataError, match="0:3 are not within the 2 samples of step 2"):
        Order(10, 4, 0).indices(2, 0, 3)
