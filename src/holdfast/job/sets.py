"""Changes given on the command line: `--set train.steps=500`."""

import tomllib
from collections.abc import Iterable
from typing import Any

from holdfast.errors import JobError
from holdfast.job.lift import FLAT
from holdfast.job.live import ROLES

INSTEAD_OF = {"train.steps": "epochs", "train.epochs": "steps"}


def applied(fields: dict[str, Any], assignments: Iterable[str]) -> tuple[dict[str, Any], set[str]]:
    """The nested fields, changed in place, and the roles whose live object no longer belongs to them."""
    dropped: set[str] = set()
    for assignment in assignments:
        path, value = _parsed(assignment)
        _assign(fields, path, value)
        dropped |= _renamed(fields, path)
    return fields, dropped


def _parsed(assignment: str) -> tuple[list[str], Any]:
    key, separator, text = assignment.partition("=")
    path = key.strip().split(".")
    if not separator or not all(path):
        raise JobError(f"`{assignment}` is not an assignment: write it like train.steps=500")
    return list(FLAT.get(key.strip(), path)), _value(text.strip())


def _value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if parsed.keys() == {"value"} else text


def _assign(fields: dict[str, Any], path: list[str], value: Any) -> None:
    table: Any = fields
    for depth, name in enumerate(path[:-1]):
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise JobError(f"`{'.'.join(path)}` cannot be set: `{'.'.join(path[: depth + 1])}` is not a table")
    table[path[-1]] = value
    table.pop(INSTEAD_OF.get(".".join(path), ""), None)


def _renamed(fields: dict[str, Any], path: list[str]) -> set[str]:
    """A new name for a live object is another object, so the old one and its hash go."""
    roles = {role for role, (section, field, _) in ROLES.items() if path in ([section], [section, field])}
    for section, _, identity in (ROLES[role] for role in roles if len(path) == 2):
        fields[section].pop(identity, None)
    return roles
