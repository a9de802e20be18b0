"""What the user writes: a job, loaded from TOML or Python, validated, printed and fingerprinted."""

from holdfast.job.checkpoint import CheckpointSpec
from holdfast.job.crew import CrewSpec, Workers
from holdfast.job.data import DataSpec
from holdfast.job.evaluate import EvaluateSpec
from holdfast.job.job import Job
from holdfast.job.load import load_job
from holdfast.job.model import ModelSpec
from holdfast.job.optimizer import SGD, Adagrad, Adam, AdamW, AnyOptimizer, Group, RMSprop, TorchOptimizer
from holdfast.job.schedule import AnySchedule, Constant, Cosine, Linear, OneCycle, StepDecay
from holdfast.job.train import TrainSpec

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "AnyOptimizer",
    "AnySchedule",
    "CheckpointSpec",
    "Constant",
    "Cosine",
    "CrewSpec",
    "DataSpec",
    "EvaluateSpec",
    "Group",
    "Job",
    "Linear",
    "ModelSpec",
    "OneCycle",
    "RMSprop",
    "StepDecay",
    "TorchOptimizer",
    "TrainSpec",
    "Workers",
    "load_job",
]
