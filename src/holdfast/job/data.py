"""[data]: what it is trained on."""

from pydantic import Field

from holdfast.job.quantities import Args
from holdfast.job.spec import Spec


class DataSpec(Spec):
    """The data, for training and, if they have it, for testing."""

    use: str = Field(
        min_length=1,
        description="A built-in source, or the import path (`package.module:attr`, `path/file.py:attr`) of a "
        "callable that returns a dataset or (train, test)",
    )
    args: Args = Field(default={}, description="Keyword arguments for it")
    identity: str | None = Field(
        default=None, description="Content hash of data passed as a Python object; filled in, not written"
    )
