"""Near misses: what the user probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def hint(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: the nearest known one, or else all, if they are few."""
    names = sorted(known)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; known: {', '.join(names)}" if 0 < len(names) <= 30 else ""
