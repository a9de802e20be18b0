"""What a blow cost the job it struck."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

End = Literal["", "hung", "died"]


@dataclass(frozen=True)
class Cost:
    """Of one blow. Without a stall the job did not go on by itself, and `end` says how it ended.

    `regained_s` is until it was further than before; `lost` are committed steps that had to be done again; `dropped`,
    batches that are in no step; `why` is the last that one who died without being struck had to say.
    """

    stall_s: float | None = None
    regained_s: float | None = None
    lost: int = 0
    dropped: int = 0
    end: End = ""
    why: str = ""


def ends(costs: Sequence[Cost]) -> str:
    """How often a job did not go on."""
    counts = Counter(cost.end for cost in costs if cost.end)
    return ", ".join(f"{end} {count} ×" for end, count in sorted(counts.items()))
