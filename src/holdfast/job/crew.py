"""[crew]: who does the work."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import Field, PlainSerializer, PlainValidator

from holdfast.job.quantities import Positive, Whole
from holdfast.job.spec import Spec


@dataclass(frozen=True)
class Workers:
    """Bounds on the size of a crew, written `3` or `"2:6"`; a run starts with the most it may have."""

    min: int
    max: int

    @property
    def start(self) -> int:
        return self.max

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Raises ValueError, with the rest of a sentence, unless this is a number or min:max, at least 1."""
        if isinstance(value, cls):
            return value
        found = re.fullmatch(r"(\d+)(?::(\d+))?", str(value)) if isinstance(value, int | str) else None
        low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= low <= high:
            raise ValueError('is not a number of workers: write 3, or "2:6" for at least 2 and at most 6')
        return cls(low, high)

    def written(self) -> int | str:
        return self.max if self.min == self.max else f"{self.min}:{self.max}"


WorkersField = Annotated[
    Workers, PlainValidator(Workers.parse, json_schema_input_type=int | str), PlainSerializer(Workers.written)
]


class CrewSpec(Spec):
    """Workers and patience with them. Cannot change the model."""

    workers: WorkersField = Field(default=Workers(1, 1), description='Processes: `3`, or `"2:6"` for bounds')
    restarts: Whole = Field(default=10, description="Deaths of workers that are made good before the run gives up")
    grace_s: Positive = Field(
        default=30.0, description="Seconds that a worker has to finish and leave after notice (SIGTERM) or `drain`"
    )
    patience_s: Positive = Field(
        default=60.0,
        description="Seconds of work without progress after which a worker is hung; one that rests is noticed sooner",
    )
