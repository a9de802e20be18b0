"""From the ways a job may be spelled to the one nested form: flat keywords, sections as words or specs."""

from collections.abc import Mapping
from typing import Any

from holdfast.errors import JobError
from holdfast.job.spec import Spec
from holdfast.job.train import TrainSpec

SECTIONS = ("model", "data", "train", "optimizer", "schedule", "evaluate", "checkpoint", "crew")
WORDS = {"model": "use", "data": "use", "optimizer": "kind", "schedule": "kind"}
DEFAULT_KINDS = {"optimizer": "adamw", "schedule": "constant"}
FLAT = {
    "model_args": ("model", "args"),
    "data_args": ("data", "args"),
    "metrics": ("evaluate", "metrics"),
    "workers": ("crew", "workers"),
    **{name: ("train", name) for name in TrainSpec.model_fields if name != "loss_identity"},
}


def lifted(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The nested form of the fields; live objects stay in place, as values of `use` and `loss`."""
    nested = {name: _section(name, value) for name, value in fields.items() if name not in FLAT}
    for name in fields.keys() & FLAT.keys():
        _put(nested, name, fields[name])
    if "train" not in nested:
        nested["train"] = {}
    for name, kind in DEFAULT_KINDS.items():
        if isinstance(nested.get(name), dict):
            nested[name].setdefault("kind", kind)
    return nested


def _section(name: str, value: Any) -> Any:
    if isinstance(value, Spec):
        return value.given()
    if name in WORDS and isinstance(value, str):
        return {WORDS[name]: value}
    if name in ("model", "data") and not isinstance(value, Mapping):
        return {"use": value}
    return dict(value) if isinstance(value, Mapping) else value


def _put(nested: dict[str, Any], name: str, value: Any) -> None:
    section, field = FLAT[name]
    table = nested.setdefault(section, {})
    if not isinstance(table, dict):
        return
    if field in table:
        raise JobError(f"`{name}` is given twice, as `{name}` and as `{section}.{field}`: keep one of them")
    table[field] = value
