"""Our 64-bit hash: for splits, for the order of the data and for random states.

The definition, which never changes (files and models depend on it), with all sums and products modulo 2**64:

    mix(x)            = x += STEP;  x ^= x >> 32;  x *= MUL_A;  x ^= x >> 29;  x *= MUL_B;  x ^= x >> 32
    absorb(state, x)  = mix(state * MUL_C + x)
    derive(s, a, b…)  = absorb(absorb(mix(s), a), b)…
    hash of bytes     = derive(seed, length, word, word, …)
    hash of a text    = that of its UTF-8 bytes

where a word is 8 bytes, little-endian, the last one filled up with zeros.

The constants are the first 64 bits of the fractions of the golden ratio and of the roots of 2, 3 and 5, odd.
It spreads well and is fast; it is no defence against somebody who wants collisions.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

MASK = 0xFFFF_FFFF_FFFF_FFFF
STEP = 0x9E37_79B9_7F4A_7C15
MUL_A = 0x6A09_E667_F3BC_C909
MUL_B = 0xBB67_AE85_84CA_A73B
MUL_C = 0x3C6E_F372_FE94_F82B

Words = NDArray[np.uint64]


def derive(seed: int, *parts: int) -> int:
    """An independent 64-bit seed for each (seed, *parts); each of its bits is as good as any other."""
    return reduce(_absorb, parts, _mix(seed))


def hash_bytes(data: bytes, seed: int = 0) -> int:
    words = (int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8))
    return derive(seed, len(data), *words)


def hash_text(text: str, seed: int = 0) -> int:
    return hash_bytes(text.encode(), seed)


def hash_ints(values: NDArray[np.integer], seed: int | Words = 0) -> Words:
    """`derive(seed, value)` of each value; negative values count as their two's complement.

    Given an array of earlier hashes instead of a seed, it absorbs one value more into each of them.
    """
    state = seed if isinstance(seed, np.ndarray) else np.full(len(values), _mix(seed), np.uint64)
    return absorb_words(state, np.asarray(values).astype(np.uint64))


def hash_texts(texts: Sequence[str], seed: int = 0) -> Words:
    """`hash_text` of each text, all at once."""
    encoded = [text.encode() for text in texts]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    width = -(-int(lengths.max(initial=1)) // 8)
    words = np.array(encoded, f"S{8 * width}").view("<u8").reshape(len(encoded), width)
    state = hash_ints(lengths, seed)
    for column in range(width):
        unfinished = lengths > 8 * column
        state[unfinished] = absorb_words(state[unfinished], words[unfinished, column])
    return state


def absorb_words(state: Words, words: Words) -> Words:
    mixed = state * np.uint64(MUL_C)
    mixed += words
    mixed += np.uint64(STEP)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(MUL_A)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(MUL_B)
    mixed ^= mixed >> np.uint64(32)
    return mixed


def _absorb(state: int, part: int) -> int:
    return _mix(state * MUL_C + part)


def _mix(value: int) -> int:
    value = (value + STEP) & MASK
    value ^= value >> 32
    value = value * MUL_A & MASK
    value ^= value >> 29
    value = value * MUL_B & MASK
    return value ^ value >> 32
