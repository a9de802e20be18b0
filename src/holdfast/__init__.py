"""Holdfast: distributed training that gives the same model, to the bit, on any crew of workers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from holdfast.data.source import Dataset as Dataset
    from holdfast.errors import HoldfastError as HoldfastError
    from holdfast.job import SGD as SGD
    from holdfast.job import Adagrad as Adagrad
    from holdfast.job import Adam as Adam
    from holdfast.job import AdamW as AdamW
    from holdfast.job import Constant as Constant
    from holdfast.job import Cosine as Cosine
    from holdfast.job import Group as Group
    from holdfast.job import Job as Job
    from holdfast.job import Linear as Linear
    from holdfast.job import OneCycle as OneCycle
    from holdfast.job import RMSprop as RMSprop
    from holdfast.job import StepDecay as StepDecay
    from holdfast.job import TorchOptimizer as TorchOptimizer
    from holdfast.job import load_job as load_job
    from holdfast.run.api import Run as Run
    from holdfast.run.api import submit as submit
    from holdfast.run.api import train as train

_JOB = "SGD Adagrad Adam AdamW Constant Cosine Group Job Linear OneCycle RMSprop StepDecay TorchOptimizer load_job"
_HOME_OF = {
    "Dataset": "holdfast.data.source",
    "HoldfastError": "holdfast.errors",
    **dict.fromkeys(_JOB.split(), "holdfast.job"),
    **dict.fromkeys(("Run", "submit", "train"), "holdfast.run.api"),
}

__all__ = sorted(["__version__", *_HOME_OF])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    # Each name is imported when it is asked for: a command must not wait for torch before it needs it.
    if name not in _HOME_OF:
        raise AttributeError(f"module 'holdfast' has no attribute '{name}'")
    return getattr(import_module(_HOME_OF[name]), name)
