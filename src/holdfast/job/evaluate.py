"""[evaluate]: what is measured on the test set."""

from pydantic import Field

from holdfast.job.quantities import Count
from holdfast.job.spec import Spec


class EvaluateSpec(Spec):
    """Metrics are exact over the whole test set, on any number of workers."""

    metrics: tuple[str, ...] = Field(default=(), description="Metrics by name; empty: those of the task")
    every_steps: Count | None = Field(default=None, description="Steps between evaluations; always at the end")
    batch: Count = Field(default=256, description="Samples per forward pass")
