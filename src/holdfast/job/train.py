"""[train]: everything about the arithmetic of a step but the optimizer."""

from typing import Literal, Self

from pydantic import Field, model_validator

from holdfast.job.quantities import Count, Positive, Whole
from holdfast.job.spec import Spec


class TrainSpec(Spec):
    """How long, in what portions and from which seed. Every field can change the model's bits."""

    replicas: Count = Field(
        default=8, description="Logical data-parallel units; the model depends on them, never on the workers"
    )
    batch: Count = Field(default=64, description="Samples per step, over all replicas")
    steps: Count | None = Field(default=None, description="Steps to train; give this or `epochs`")
    epochs: Count | None = Field(default=None, description="Passes over the data; give this or `steps`")
    seed: Whole = Field(default=0, description="Decides initial weights, order of the data, dropout")
    loss: str = Field(
        default="auto",
        min_length=1,
        description="`auto` (that of the task), a loss by name, or an import path",
    )
    loss_identity: str | None = Field(
        default=None, description="Content hash of a loss passed as a Python object; filled in, not written"
    )
    precision: Literal["fp32", "bf16"] = Field(
        default="fp32", description="Of the forward and backward pass; parameters and sums are always fp32"
    )
    threads: Count = Field(default=1, description="Threads per replica; another number gives other roundings")
    clip_norm: Positive | None = Field(default=None, description="Largest norm of the whole gradient")
    clip_value: Positive | None = Field(default=None, description="Largest size of any gradient element")
    last_batch: Literal["partial", "drop"] = Field(
        default="partial", description="What becomes of an epoch's last samples when they do not fill a batch"
    )

    @model_validator(mode="after")
    def _has_one_length(self) -> Self:
        if self.steps is None and self.epochs is None:
            raise ValueError("has no length: give `steps` or `epochs`, for example steps = 1000")
        if self.steps is not None and self.epochs is not None:
            raise ValueError(f"has both steps = {self.steps} and epochs = {self.epochs}: give one of them")
        return self

    @model_validator(mode="after")
    def _feeds_every_replica(self) -> Self:
        if self.replicas > self.batch:
            raise ValueError(
                f"has replicas = {self.replicas} for batch = {self.batch}, so some would get no sample: "
                "lower `replicas` or raise `batch`"
            )
        return self
