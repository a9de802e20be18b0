"""[optimizer]: how gradients become new parameters. Fields carry the names that torch.optim gives them."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from holdfast.job.quantities import Args, Decay, Flag, NotNegative, Positive
from holdfast.job.spec import Spec


class Group(Spec):
    """Parameters whose name matches the glob; each parameter belongs to the first group that matches it."""

    match: str = Field(min_length=1, description="Glob over parameter names, for example `*.bias`")
    lr_scale: NotNegative = Field(default=1.0, description="Factor on the learning rate; 0 freezes")
    weight_decay: NotNegative | None = Field(default=None, description="In place of the optimizer's own")


class Optimizer(Spec):
    """What all kinds share."""

    lr: NotNegative = Field(default=1e-3, description="Learning rate at the schedule's highest point")
    weight_decay: NotNegative = Field(default=0.0, description="Decay of the weights towards zero")
    groups: tuple[Group, ...] = Field(default=(), description="Exceptions by parameter name; first match wins")


class Adam(Optimizer):
    """Adam; its weight decay is added to the gradient."""

    kind: Literal["adam"] = Field(default="adam", description="Which optimizer")
    betas: tuple[Decay, Decay] = Field(default=(0.9, 0.999), description="Memory of the mean and of the square")
    eps: Positive = Field(default=1e-8, description="Added to the denominator")


class AdamW(Optimizer):
    """Adam with decoupled weight decay; the default."""

    kind: Literal["adamw"] = Field(default="adamw", description="Which optimizer")
    weight_decay: NotNegative = Field(default=0.01, description="Decay of the weights towards zero")
    betas: tuple[Decay, Decay] = Field(default=(0.9, 0.999), description="Memory of the mean and of the square")
    eps: Positive = Field(default=1e-8, description="Added to the denominator")


class SGD(Optimizer):
    """Gradient descent, with momentum or without."""

    kind: Literal["sgd"] = Field(default="sgd", description="Which optimizer")
    lr: NotNegative = Field(default=1e-2, description="Learning rate at the schedule's highest point")
    momentum: Decay = Field(default=0.0, description="Share of the last step that is kept")
    nesterov: Flag = Field(default=False, description="Look ahead by the momentum")
    dampening: NotNegative = Field(default=0.0, description="Share of the gradient kept out of the momentum")

    @model_validator(mode="after")
    def _nesterov_has_momentum(self) -> Self:
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise ValueError(
                f"has nesterov = true with momentum = {self.momentum} and dampening = {self.dampening}: "
                "it needs a momentum above 0 and dampening = 0"
            )
        return self


class Adagrad(Optimizer):
    """Steps that shrink with the sum of squared gradients."""

    kind: Literal["adagrad"] = Field(default="adagrad", description="Which optimizer")
    lr: NotNegative = Field(default=1e-2, description="Learning rate at the schedule's highest point")
    lr_decay: NotNegative = Field(default=0.0, description="Extra decay of the learning rate per step")
    initial_accumulator_value: NotNegative = Field(default=0.0, description="Where the sum of squares starts")
    eps: Positive = Field(default=1e-10, description="Added to the denominator")


class RMSprop(Optimizer):
    """Steps divided by a moving root mean square."""

    kind: Literal["rmsprop"] = Field(default="rmsprop", description="Which optimizer")
    lr: NotNegative = Field(default=1e-2, description="Learning rate at the schedule's highest point")
    alpha: Decay = Field(default=0.99, description="Memory of the mean square")
    eps: Positive = Field(default=1e-8, description="Added to the denominator")
    momentum: Decay = Field(default=0.0, description="Share of the last step that is kept")
    centered: Flag = Field(default=False, description="Divide by the variance, not by the mean square")


class TorchOptimizer(Optimizer):
    """Any torch optimizer, by import path. It sees whole tensors, so work is divided by tensor."""

    kind: Literal["torch"] = Field(default="torch", description="Which optimizer")
    use: str = Field(min_length=1, description="Import path of the class, for example `torch.optim:Muon`")
    args: Args = Field(default={}, description="Keyword arguments for it, besides `lr` and `weight_decay`")


AnyOptimizer = Annotated[Adam | AdamW | SGD | Adagrad | RMSprop | TorchOptimizer, Field(discriminator="kind")]
