"""The job itself: its sections put together, checked against each other, printed and fingerprinted."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field, PrivateAttr, model_validator

from holdfast.errors import JobError
from holdfast.job import canonical, live, sets, toml
from holdfast.job.checkpoint import CheckpointSpec
from holdfast.job.crew import CrewSpec
from holdfast.job.data import DataSpec
from holdfast.job.evaluate import EvaluateSpec
from holdfast.job.imports import base_dir_now
from holdfast.job.lift import FLAT, lifted
from holdfast.job.model import ModelSpec
from holdfast.job.optimizer import AdamW, AnyOptimizer
from holdfast.job.schedule import AnySchedule, Constant
from holdfast.job.spec import Spec
from holdfast.job.train import TrainSpec


class Job(Spec):
    """What the user wrote: plain data, whole and valid. The model it produces is a function of it alone.

    Sections may be given as tables, as specs, or flat: `Job(model=Net, data=dataset, loss="mse", steps=9)`.
    `model`, `data` and `loss` may be Python objects; `objects` keeps those that no import can find again.
    """

    name: str = Field(default="job", min_length=1, description="What runs of it are called")
    model: ModelSpec = Field(description='What is trained, for example model = "cnn"')
    data: DataSpec = Field(description='What it is trained on, for example data = "digits"')
    train: TrainSpec = Field(description="How long, in what portions and from which seed")
    optimizer: AnyOptimizer = Field(default=AdamW(), description="How gradients become new parameters")
    schedule: AnySchedule = Field(default=Constant(), description="The learning rate over the steps")
    evaluate: EvaluateSpec = Field(default=EvaluateSpec(), description="What is measured on the test set")
    checkpoint: CheckpointSpec = Field(default=CheckpointSpec(), description="When the state goes to disk")
    crew: CrewSpec = Field(default=CrewSpec(), description="Who does the work")

    _objects: dict[str, Any] = PrivateAttr(default_factory=dict)
    _base_dir: Path = PrivateAttr(default_factory=base_dir_now)

    def __init__(self, **fields: Any) -> None:
        plain, objects = live.detached(lifted(fields), base_dir_now())
        super().__init__(**plain)
        self._objects = objects

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], base_dir: Path) -> Self:
        """A job from its tables, as a file or `resolved()` has them; relative paths start at `base_dir`."""
        job = cls(**fields)
        if job._objects:
            role, thing = next(iter(job._objects.items()))
            raise JobError(f"`{role}` is a {type(thing).__name__}: write a name or an import path, in quotes")
        job._base_dir = base_dir.resolve()
        return job

    @property
    def objects(self) -> Mapping[str, Any]:
        """The live objects under "model", "data" and "loss": what a worker cannot import and must be sent."""
        return self._objects

    @property
    def base_dir(self) -> Path:
        return self._base_dir

    def resolved(self) -> dict[str, Any]:
        """All fields, defaults filled in, ready for JSON; `from_dict` gives back an equal job."""
        return self.model_dump(mode="json")

    def to_toml(self) -> str:
        """The resolved job as a job file."""
        return toml.write(self)

    def canonical(self) -> bytes:
        """Everything that can change a bit of the model, in one order and one spelling."""
        return canonical.canonical(self.resolved(), self.base_dir)

    @property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal models, to the bit, in equal environments."""
        return canonical.fingerprint(self.canonical())

    def with_sets(self, assignments: Iterable[str]) -> Self:
        """A changed copy; each assignment is `section.field=value`, the value in TOML or a bare word."""
        fields, dropped = sets.applied(self.given(), assignments)
        job = self.from_dict(fields, self.base_dir)
        job._objects = {role: thing for role, thing in self._objects.items() if role not in dropped}
        return job

    @classmethod
    def known_fields(cls) -> list[str]:
        return [*cls.model_fields, *FLAT]

    def given(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in self.model_fields_set}
        return {name: value.given() if isinstance(value, Spec) else value for name, value in said.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.resolved() == other.resolved()

    def __hash__(self) -> int:
        return hash(repr(self.resolved()))

    @model_validator(mode="after")
    def _has_work_for_every_worker(self) -> Self:
        if self.crew.workers.max > self.train.replicas:
            raise ValueError(
                f"crew.workers = {self.crew.workers.written()} is more than "
                f"train.replicas = {self.train.replicas}: a worker without a replica has nothing to do, "
                "so use fewer workers or more replicas"
            )
        return self

    @model_validator(mode="after")
    def _ends_after_warmup(self) -> Self:
        steps, warmup = self.train.steps, self.schedule.warmup_steps
        if steps is not None and warmup >= steps:
            raise ValueError(
                f"schedule.warmup_steps = {warmup} leaves nothing of train.steps = {steps}: "
                "warm up for fewer steps or train for more"
            )
        return self
