"""[schedule]: the learning rate over the steps, as a factor on `optimizer.lr`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from holdfast.job.quantities import Count, Positive, Ratio, Whole
from holdfast.job.spec import Spec


class Schedule(Spec):
    """What all kinds share."""

    warmup_steps: Whole = Field(default=0, description="Steps of straight rise before the schedule begins")


class Constant(Schedule):
    """The same learning rate throughout; the default."""

    kind: Literal["constant"] = Field(default="constant", description="Which schedule")


class Cosine(Schedule):
    """Half a cosine from 1 down to `min_ratio` at the last step."""

    kind: Literal["cosine"] = Field(default="cosine", description="Which schedule")
    min_ratio: Ratio = Field(default=0.0, description="Factor at the last step")


class StepDecay(Schedule):
    """Times `gamma` every `every_steps` steps."""

    kind: Literal["step"] = Field(default="step", description="Which schedule")
    every_steps: Count = Field(description="Steps between two drops")
    gamma: Positive = Field(default=0.1, description="Factor of each drop")


class Linear(Schedule):
    """A straight line from 1 down to `min_ratio` at the last step."""

    kind: Literal["linear"] = Field(default="linear", description="Which schedule")
    min_ratio: Ratio = Field(default=0.0, description="Factor at the last step")


class OneCycle(Schedule):
    """Up from `start_ratio` to 1 and down to `end_ratio`, both along cosines."""

    kind: Literal["onecycle"] = Field(default="onecycle", description="Which schedule")
    peak_at: Ratio = Field(default=0.3, description="Where the top is, as a share of all steps")
    start_ratio: Ratio = Field(default=0.04, description="Factor at the first step")
    end_ratio: Ratio = Field(default=4e-6, description="Factor at the last step")

    @model_validator(mode="after")
    def _peaks_inside(self) -> Self:
        if not 0 < self.peak_at < 1:
            raise ValueError(f"has peak_at = {self.peak_at}: it must lie between 0 and 1, for example 0.3")
        return self


AnySchedule = Annotated[Constant | Cosine | StepDecay | Linear | OneCycle, Field(discriminator="kind")]
