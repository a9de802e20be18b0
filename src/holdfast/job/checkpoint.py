"""[checkpoint]: how much work a loss of the whole machine may cost."""

from pydantic import Field

from holdfast.job.quantities import Count, Positive
from holdfast.job.spec import Spec


class CheckpointSpec(Spec):
    """When the state goes to disk. Cannot change the model."""

    every_steps: Count | None = Field(default=None, description="Steps between checkpoints")
    every_minutes: Positive | None = Field(default=5.0, description="Minutes between checkpoints")
    keep: Count = Field(default=3, description="Checkpoints kept; older ones are removed")
