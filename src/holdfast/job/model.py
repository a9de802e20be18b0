"""[model]: what is trained."""

from pydantic import Field

from holdfast.job.quantities import Args
from holdfast.job.spec import Spec


class ModelSpec(Spec):
    """The model. Its initial weights come from `train.seed`."""

    use: str = Field(
        min_length=1,
        description="A name of the catalogue, or an import path: `package.module:attr`, or "
        "`path/file.py:attr` relative to the job file",
    )
    args: Args = Field(default={}, description="Keyword arguments for it")
    identity: str | None = Field(
        default=None, description="Content hash of a model passed as a Python object; filled in, not written"
    )
