"""Python objects in a job: taken out of it, with a name and the hash of their content in their place."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

from holdfast.job.imports import FILE_MODULE, LIVE

ROLES = {
    "model": ("model", "use", "identity"),
    "data": ("data", "use", "identity"),
    "loss": ("train", "loss", "loss_identity"),
}
PLAIN = (str, int, float, type(None), os.PathLike, Mapping)


def detached(nested: dict[str, Any], base_dir: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same fields as plain data, and the objects, by role, that no import can find again."""
    plain, objects = dict(nested), dict[str, Any]()
    for role, (section, field, identity_field) in ROLES.items():
        table = plain.get(section)
        if not isinstance(table, Mapping) or isinstance(table.get(field), PLAIN):
            continue
        thing = table[field]
        use = use_of(thing, base_dir)
        plain[section] = {**table, field: use, identity_field: _identity(role, thing)}
        if use.startswith(LIVE):
            objects[role] = thing
    return plain, objects


def use_of(thing: Any, base_dir: Path) -> str:
    """An import path that leads back to the very same object, or else a name that says it is live."""
    name = getattr(thing, "__qualname__", type(thing).__qualname__)
    module = str(getattr(thing, "__module__", None))
    if not is_importable(thing) or module == "__main__":
        return f"{LIVE}:{name}"
    if module.startswith(FILE_MODULE):
        return f"{_relative(sys.modules[module].__file__ or '', base_dir)}:{name}"
    return f"{module}:{name}"


def is_importable(thing: Any) -> bool:
    """Whether a class or function is what its own module and name lead to."""
    if not isinstance(thing, type | FunctionType | BuiltinFunctionType):
        return False
    found: Any = sys.modules.get(thing.__module__ or "")
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is thing


def _identity(role: str, thing: Any) -> str:
    from holdfast.job.identity import identity  # only jobs with live objects pay for it

    return identity(role, thing)


def _relative(file: str, base_dir: Path) -> str:
    path = os.path.relpath(file, base_dir.resolve())
    return file if path.startswith("..") else path
