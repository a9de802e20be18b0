"""The hash is part of file formats and of models: it may never change, and it must spread."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.hashing import derive, hash_bytes, hash_ints, hash_text, hash_texts

SEEDS = st.integers(0, 2**64 - 1)


def test_values_never_change() -> None:
    assert derive(0) == 0xD1C8_9DAA_62C8_1462
    assert derive(1, 2, 3) == 0x838C_08B7_1E4B_1F89
    assert hash_bytes(b"") == derive(0, 0) == 0x461F_171E_3694_9062
    assert hash_text("kelp on a rock", seed=7) == 0x8CAB_CB40_5DE7_D1DD


@given(st.lists(st.text(), max_size=20), SEEDS)
def test_texts_at_once_hash_as_one_by_one(texts: list[str], seed: int) -> None:
    assert hash_texts(texts, seed).tolist() == [hash_text(text, seed) for text in texts]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), SEEDS)
def test_ints_at_once_hash_as_derived_one_by_one(values: list[int], seed: int) -> None:
    assert hash_ints(np.array(values, np.int64), seed).tolist() == [derive(seed, value) for value in values]


@given(st.binary(max_size=20))
def test_trailing_zeros_count(data: bytes) -> None:
    assert hash_bytes(data) != hash_bytes(data + b"\0")


def test_hashes_given_as_seeds_absorb_one_value_more() -> None:
    first, second = np.array([1, 2, 3]), np.array([4, 5, 6])
    both = hash_ints(second, hash_ints(first, seed=9))
    assert both.tolist() == [derive(9, a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True)]


def test_order_and_number_of_parts_matter() -> None:
    seeds = [derive(*parts) for parts in ((1,), (1, 0), (0, 1), (1, 0, 0), (0, 0, 1), (1, 2), (2, 1))]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("bit", range(0, 64, 7))
def test_flipping_any_bit_flips_half_of_the_bits(bit: int) -> None:
    values = np.arange(20_000, dtype=np.int64)
    flipped = hash_ints(values) ^ hash_ints(values.view(np.uint64) ^ np.uint64(1 << bit))
    share = np.unpackbits(flipped.view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)
    assert np.abs(share - 0.5).max() < 0.02


def test_neighbouring_seeds_give_unrelated_low_halves() -> None:
    low = np.array([derive(0, step, replica) & 0xFFFF_FFFF for step in range(200) for replica in range(8)])
    assert len(np.unique(low)) == len(low)
    assert abs(np.corrcoef(low[:-1], low[1:])[0, 1]) < 0.1
