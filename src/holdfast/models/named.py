"""What a `use` that is no name of ours refers to."""

from collections.abc import Iterable
from pathlib import Path

from holdfast.errors import JobError
from holdfast.job.imports import is_import_path, resolve
from holdfast.job.near import hint


def users_own(kind: str, use: str, known: Iterable[str], base_dir: Path) -> object:
    """The user's own object at `use`; `known` are the names of ours that may have been meant instead."""
    if not is_import_path(use):
        raise JobError(
            f"unknown {kind} `{use}`{hint(use, known)} "
            f"(a {kind} of your own is named `package.module:attr` or `path/file.py:attr`)"
        )
    found: object = resolve(use, base_dir)
    return found
