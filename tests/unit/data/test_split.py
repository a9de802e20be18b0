"""A sample's side of a split is its own affair."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.split import by_hash, uids
from holdfast.errors import DataError

NAMES = [f"user-{number}" for number in range(20_000)]


def test_share_is_as_asked_for() -> None:
    train, test = by_hash(uids(NAMES), 0.2)
    assert len(test) == pytest.approx(4000, rel=0.05)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(NAMES)))


@given(st.lists(st.text(max_size=10), max_size=60), st.randoms(use_true_random=False))
def test_other_samples_do_not_matter(names: list[str], random: Random) -> None:
    companions = NAMES[:30]  # both sides have some of them
    shuffled = names + companions
    random.shuffle(shuffled)
    _, alone = by_hash(uids(names + companions))
    _, among = by_hash(uids(shuffled + NAMES[30:60]))
    assert {(names + companions)[row] for row in alone} == {shuffled[row] for row in among if row < len(shuffled)}


def test_nothing_to_learn_from_is_refused() -> None:
    _, test = by_hash(uids(NAMES[:100]))
    with pytest.raises(DataError, match=r"a test share of 0.2 leaves none of the 1 samples"):
        by_hash(uids([NAMES[test[0]]]), 0.2)


def test_a_larger_test_share_only_adds() -> None:
    hashes = uids(NAMES)
    assert set(by_hash(hashes, 0.1)[1]) < set(by_hash(hashes, 0.3)[1])


def test_all_fields_make_the_identity() -> None:
    one = uids(["a", "a", "b"], np.array([1, 2, 1]))
    assert len(set(one.tolist())) == 3
    assert uids(["a", "a"], np.array([1, 1])).tolist() == one[[0, 0]].tolist()


@pytest.mark.parametrize("share", [0, 1, -0.2, 20])
def test_an_impossible_share_is_refused(share: float) -> None:
    with pytest.raises(DataError, match=f"between 0 and 1, not {share}"):
        by_hash(uids(["a"]), share)
