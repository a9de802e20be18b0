"""Which samples are step t's: a seeded permutation, computed and not stored, so a position is one integer.

The permutation is a Feistel network over the smallest power of two that holds n, walked until it falls inside
[0, n). A number is cut into a high and a low half (the low one has the odd bit). Each double round does

    high ^= spread(low, key)         low ^= spread(high, key')

where spread(x, key), for a half of h bits, takes the h top bits of

    y * MUL_B,  y = z ^ (z >> 32),  z = (x + key) * MUL_A       modulo 2**64

and the keys are derive(seed, 0), derive(seed, 1), … (hashing.py). There are 3 double rounds, and 8 up to
16 bits, where a round has less to mix with. Each half-round can be undone, so no index is lost or repeated.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.data.hashing import MUL_A, MUL_B, Words, derive
from holdfast.errors import DataError

Indices = NDArray[np.int64]
LastBatch = Literal["partial", "drop"]

_CHUNK = 1 << 15  # positions worked on at once: the working set stays in the second-level cache
_WINDOW = 1 << 13  # positions an Order computes ahead, so that small batches do not pay numpy's cost per call


class Permutation:
    """A permutation of range(n), evaluated wherever it is asked for; safe to share between threads."""

    def __init__(self, n: int, seed: int) -> None:
        if n < 1:
            raise DataError(f"a permutation needs at least one sample, not {n}")
        bits = (n - 1).bit_length()
        self.n = n
        self._low_bits = bits - bits // 2
        self._high_bits = bits // 2
        double_rounds = 8 if bits <= 16 else 3
        self._keys = [np.uint64(derive(seed, part)) for part in range(2 * double_rounds)]

    def indices(self, start: int, stop: int) -> Indices:
        """The samples at the positions [start, stop)."""
        if not 0 <= start <= stop <= self.n:
            raise DataError(f"positions {start}:{stop} are not within the {self.n} samples")
        return self._walk(np.arange(start, stop, dtype=np.uint64))

    def at(self, positions: Indices) -> Indices:
        """The samples at any positions, each within [0, n)."""
        if len(positions) and not 0 <= positions.min() <= positions.max() < self.n:
            raise DataError(f"positions {positions.min()} to {positions.max()} are not within the {self.n} samples")
        return self._walk(positions.astype(np.uint64))

    def _walk(self, values: Words) -> Indices:
        """Overwrites `values`, which the caller must own."""
        for at in range(0, len(values), _CHUNK):
            chunk = values[at : at + _CHUNK]
            chunk[:] = self._encrypt(chunk)
            outside = np.flatnonzero(chunk >= self.n)
            while len(outside):
                again = self._encrypt(chunk[outside])
                chunk[outside] = again
                outside = outside[again >= self.n]
        return values.view(np.int64)

    def _encrypt(self, values: Words) -> Words:
        if self.n == 1:
            return values
        low_bits = np.uint64(self._low_bits)
        high = values >> low_bits
        low = values & np.uint64((1 << self._low_bits) - 1)
        for key_high, key_low in zip(self._keys[::2], self._keys[1::2], strict=True):
            high ^= _spread(low, key_high, self._high_bits)
            low ^= _spread(high, key_low, self._low_bits)
        high <<= low_bits
        high |= low
        return high


class Order:
    """The samples of each step of a job, over as many epochs as it takes, each with a permutation of its own.

    Owned by one thread. `step` counts from 0 over the whole run, never from the start of an epoch.
    """

    _window: Indices  # the samples at the positions of this epoch from _first on
    _first: int

    def __init__(self, n: int, batch: int, seed: int, last_batch: LastBatch = "partial") -> None:
        if last_batch == "drop" and n < batch:
            raise DataError(
                f"{n} samples do not fill one batch of {batch}, and last_batch = 'drop' drops it: "
                "use a smaller train.batch or last_batch = 'partial'"
            )
        self.n = n
        self.batch = batch
        self.seed = seed
        self.steps_per_epoch = n // batch if last_batch == "drop" else -(-n // batch)
        self._enter(0)

    def count(self, step: int) -> int:
        """How many samples the step has: `batch`, or fewer in the last step of an epoch."""
        return min(self.batch, self.n - step % self.steps_per_epoch * self.batch)

    def indices(self, step: int, lo: int = 0, hi: int | None = None) -> Indices:
        """The samples at the places [lo, hi) of the step's batch; the array must not be written to."""
        epoch, step_of_epoch = divmod(step, self.steps_per_epoch)
        count = self.count(step)
        hi = count if hi is None else hi
        if not 0 <= lo <= hi <= count:
            raise DataError(f"places {lo}:{hi} are not within the {count} samples of step {step}")
        start = step_of_epoch * self.batch
        return self._ahead(epoch, start + lo, start + hi)

    def slice(self, step: int, replica: int, replicas: int) -> Indices:
        """The replica's share of the step: of m samples, the places [r*m//R, (r+1)*m//R). It may be empty."""
        count = self.count(step)
        return self.indices(step, replica * count // replicas, (replica + 1) * count // replicas)

    def _ahead(self, epoch: int, start: int, stop: int) -> Indices:
        if epoch != self._epoch:
            self._enter(epoch)
        if not self._first <= start <= stop <= self._first + len(self._window):
            self._first = start
            self._window = self._permutation.indices(start, min(self.n, max(stop, start + _WINDOW)))
        return self._window[start - self._first : stop - self._first]

    def _enter(self, epoch: int) -> None:
        self._epoch = epoch
        self._permutation = Permutation(self.n, derive(self.seed, epoch))
        self._first = 0
        self._window = np.empty(0, np.int64)


def _spread(half: Words, key: np.uint64, bits: int) -> Words:
    spread = half + key
    spread *= np.uint64(MUL_A)
    spread ^= spread >> np.uint64(32)
    spread *= np.uint64(MUL_B)
    spread >>= np.uint64(64 - bits)
    return spread
