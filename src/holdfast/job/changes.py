"""What may be changed of a job while it trains: how far a step goes, and nothing that memory is laid out by."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from holdfast.errors import JobError
from holdfast.job.job import Job

_KINDS = ("optimizer", "schedule", "train.clip_norm", "train.clip_value")
_EXAMPLE = "for example optimizer.lr=0.001"
_LAID_OUT = {
    "optimizer.kind": "the state of another optimizer is another one",
    "optimizer.use": "the state of another optimizer is another one",
    "optimizer.args": "the state that the optimizer keeps may depend on it",
    "optimizer.initial_accumulator_value": "it matters at the first step only",
    "optimizer.centered": "it decides what state is kept",
}
_ON_OR_OFF = ("optimizer.momentum", "train.clip_norm")
"""Memory is kept for these or not, from the first step on."""


def changed(job: Job, assignments: Iterable[str]) -> Job:
    """The job from a later step on. Raises JobError for what cannot be changed while it trains."""
    after = job.with_sets(assignments)
    for name, old, new in _differences(job.resolved(), after.resolved()):
        _require_changeable(name, old, new)
    return after


def _require_changeable(name: str, old: Any, new: Any) -> None:
    if not any(name == kind or name.startswith(f"{kind}.") for kind in _KINDS):
        raise JobError(
            f"`{name}` cannot be changed while a run trains; {', '.join(_KINDS[:-1])} and {_KINDS[-1]} can, {_EXAMPLE}"
        )
    if name in _LAID_OUT:
        raise JobError(f"`{name}` cannot be changed while a run trains: {_LAID_OUT[name]}; begin another run")
    if name in _ON_OR_OFF and bool(old) != bool(new):
        raise JobError(
            f"`{name}` cannot be turned {'on' if new else 'off'} while a run trains, since memory is laid out by it; "
            "begin another run"
        )
    if name == "optimizer.groups" and _matches(old) != _matches(new):
        raise JobError(
            f"`optimizer.groups` must match the same parameters as before ({', '.join(_matches(old)) or 'none'}); "
            "only lr_scale and weight_decay can be changed while a run trains"
        )


def _matches(groups: Iterable[Mapping[str, Any]]) -> list[str]:
    return [group["match"] for group in groups]


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any, Any]]:
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping) and not above:
            yield from _differences(before, after, f"{key}.")
        elif before != after:
            yield f"{above}{key}", before, after
