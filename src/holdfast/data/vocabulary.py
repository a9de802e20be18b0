"""Words as numbers: the vocabulary, and bags of words as padded rows of ids."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import DataError

UNKNOWN = 0


@dataclass(frozen=True)
class Vocabulary:
    """The known words; the word at place i has the id i + 1, because the id 0 is any unknown word."""

    words: tuple[str, ...]

    @classmethod
    def build(cls, texts: Iterable[str], size: int, min_count: int = 1) -> Self:
        """The `size` - 1 most frequent words (the unknown one also counts) seen at least `min_count` times.

        Of equally frequent ones the first in the alphabet, so that the order of the texts does not matter.
        """
        if size < 1:
            raise DataError(f"a vocabulary of size {size} has no place for the unknown word: use at least 1")
        counts = Counter(chain.from_iterable(map(str.split, texts)))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls(tuple(word for word, count in ranked[: size - 1] if count >= min_count))

    def __len__(self) -> int:
        """The number of ids, the unknown one included."""
        return len(self.words) + 1

    def encode(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids of all words of all texts, one after another, and where each text begins among them."""
        # Texts are split twice because keeping a list per text would set off Python's garbage collector.
        lengths = np.fromiter((len(text.split()) for text in texts), np.int64, len(texts))
        ids = (self._ids.get(word, UNKNOWN) for word in " ".join(texts).split())
        return np.fromiter(ids, np.int64, int(lengths.sum())), np.cumsum(lengths) - lengths

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: place + 1 for place, word in enumerate(self.words)}


def pad(
    flat: NDArray[np.int64], offsets: NDArray[np.int64], shift: int = 1, width: int | None = None
) -> NDArray[np.int64]:
    """Bags as rows [bags, width] of id + shift, filled up with 0; longer bags are cut, by default none is.

    A row does not depend on its neighbours, as offsets would, so it is selected by index like any other.
    """
    lengths = np.diff(offsets, append=len(flat))
    width = int(lengths.max(initial=0)) if width is None else width
    rows = np.zeros((len(offsets), width), np.int64)
    bag = np.repeat(np.arange(len(offsets)), lengths)
    place = np.arange(len(flat)) - offsets[bag]
    kept = place < width
    rows[bag[kept], place[kept]] = flat[kept] + shift
    return rows
