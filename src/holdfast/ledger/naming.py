"""The ids of runs: short, readable, and in the order of their creation within a name."""

import difflib
import re
from collections.abc import Sequence

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_EPOCH_S = 1_735_689_600  # 2025-01-01: six digits then last until 2093


def run_id(name: str, now: float, bump: int) -> str:
    """The id of a run created at `now`; `bump` counts the ids of that second that were taken already."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24].rstrip("-") or "run"
    return f"{slug}-{_base36(int(now) - _EPOCH_S + bump)}"


def unknown(ref: str, known: Sequence[str]) -> str:
    """The sentence for a reference that fits no run."""
    near = difflib.get_close_matches(ref, known, n=1)
    if near:
        return f"no run `{ref}`; did you mean `{near[0]}`?"
    return f"no run `{ref}`; `holdfast ps` lists those there are"


def ambiguous(ref: str, fits: Sequence[str]) -> str:
    """The sentence for a reference that fits several runs."""
    some = ", ".join(f"`{one}`" for one in fits[:3]) + (" …" if len(fits) > 3 else "")
    return f"run `{ref}` could be any of {len(fits)} ({some}); give more letters of its id, or `last`"


def _base36(number: int) -> str:
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits
