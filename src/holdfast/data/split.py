"""Which samples are for learning and which for judging: by a hash of who they are, not by chance or place."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.data.hashing import Words, absorb_words, hash_ints, hash_texts
from holdfast.data.order import Indices
from holdfast.errors import DataError


def uids(*fields: Sequence[str] | NDArray[np.integer]) -> Words:
    """One 64-bit hash per sample of the chosen fields, each a column of texts or of integers.

    Samples that agree in these fields (the clicks of one user) stay together in a split.
    """
    hashes = [_hash_column(field) for field in fields]
    combined = hashes[0]
    for column in hashes[1:]:
        combined = absorb_words(combined, column)
    return combined


def by_hash(hashes: Words, test: float = 0.2) -> tuple[Indices, Indices]:
    """The indices of the training and of the test samples, each ascending.

    A sample's side depends on its own hash alone: samples that come or go move no other one, and a larger
    `test` only adds to the test side.
    """
    if not 0 < test < 1:
        raise DataError(f"the test share must be between 0 and 1, not {test}")
    is_test = hashes < np.uint64(int(test * 2.0**64))
    if is_test.all():
        raise DataError(f"a test share of {test} leaves none of the {len(hashes)} samples to learn from: lower it")
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _hash_column(column: Sequence[str] | NDArray[np.integer]) -> Words:
    return hash_ints(column) if isinstance(column, np.ndarray) else hash_texts(column)
