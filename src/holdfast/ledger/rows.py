"""The rows of the ledger as plain values; times are seconds since 1970, in UTC."""

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

Status = Literal["starting", "running", "paused", "finished", "failed", "stopped", "lost"]
UNFINISHED: tuple[Status, ...] = ("starting", "running", "paused")
"""What a run is that is being executed, or should be."""
CheckpointStatus = Literal["whole", "bad"]


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a job; `job` is its resolved form, `pid` the process that drives it."""

    id: str
    name: str
    status: Status
    job: dict[str, Any]
    fingerprint: str
    environment: dict[str, Any]
    created: float
    started: float | None
    ended: float | None
    workers: int
    steps_done: int
    steps_total: int
    result: dict[str, Any] | None
    error: str | None
    pid: int | None


class RunChange(TypedDict, total=False):
    """The fields of a run that may change after it was created."""

    status: Status
    environment: dict[str, Any]
    started: float | None
    ended: float | None
    workers: int
    steps_done: int
    steps_total: int
    result: dict[str, Any] | None
    error: str | None
    pid: int | None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a run; ids rise, so a reader can ask for what came after the last it saw."""

    id: int
    run: str
    time: float
    step: int | None
    kind: str
    worker: int | None
    text: str
    detail: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Metric:
    """One point of a curve."""

    step: int
    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Lease:
    """Who may act under a name, until when, and with which fencing term; an empty holder is nobody."""

    name: str
    holder: str
    term: int
    expires: float


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A checkpoint of a run as the ledger knows it; the files themselves decide whether it is whole."""

    run: str
    step: int
    path: str
    bytes: int
    time: float
    sha256: str
    status: CheckpointStatus
