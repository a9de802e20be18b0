"""Words become ids in one way only, and a bag is the same bag in whatever company."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.vocabulary import UNKNOWN, Vocabulary, pad
from holdfast.errors import DataError

TEXTS = st.lists(st.lists(st.sampled_from(["red", "blue", "green", "tiny"]), max_size=5).map(" ".join), max_size=8)


def test_frequent_words_first_and_ties_by_the_alphabet() -> None:
    texts = ["b a", "c a", "d d"]
    assert Vocabulary.build(texts, size=10).words == ("a", "d", "b", "c")
    assert Vocabulary.build(texts[::-1], size=4).words == ("a", "d", "b")
    assert Vocabulary.build(texts, size=10, min_count=2).words == ("a", "d")
    assert len(Vocabulary.build(texts, size=4)) == 4
    assert len(Vocabulary.build([], size=4)) == 1


def test_no_place_for_the_unknown_word() -> None:
    with pytest.raises(DataError, match="size 0 has no place for the unknown word"):
        Vocabulary.build(["a"], size=0)


@given(TEXTS)
def test_encoding_is_undone_by_the_words(texts: list[str]) -> None:
    vocabulary = Vocabulary(("red", "blue", "green"))
    flat, offsets = vocabulary.encode(texts)
    words = ["?" if word == UNKNOWN else vocabulary.words[word - 1] for word in flat.tolist()]
    bags = [" ".join(bag) for bag in np.split(np.array(words, dtype="U9"), offsets[1:])] if texts else []
    assert bags == [text.replace("tiny", "?") for text in texts]


@given(TEXTS)
def test_rows_hold_their_bag_and_then_zeros(texts: list[str]) -> None:
    flat, offsets = Vocabulary(("red", "blue", "green")).encode(texts)
    rows = pad(flat, offsets, shift=5, width=3)
    for place, row in enumerate(rows.tolist()):
        end = offsets[place + 1] if place + 1 < len(offsets) else len(flat)
        bag = (flat[offsets[place] : end] + 5).tolist()[:3]
        assert row == bag + [0] * (3 - len(bag))


def test_rows_are_as_wide_as_the_longest_bag() -> None:
    assert pad(np.array([7, 8, 9]), np.array([0, 1])).tolist() == [[8, 0], [9, 10]]
