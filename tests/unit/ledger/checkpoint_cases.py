"""What the tests of checkpoints share: a small state, and ways to look at what became of it."""

import importlib
import os
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.ledger import checkpoints
from holdfast.ledger.checkpoints import Reader, Section


def state(seed: int = 0) -> list[Section]:
    content = random.Random(seed).randbytes
    return [
        Section("weight", "F32", (5, 10), memoryview(content(200))),
        Section("empty", "F32", (0, 3), memoryview(b"")),
        Section("bias", "BF16", (7,), memoryview(content(14))),
        Section("step", "I64", (), memoryview(content(8))),
    ]


def contents(sections: list[Section]) -> dict[str, bytes]:
    return {section.name: bytes(section.data) for section in sections}


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


_writing = importlib.import_module("holdfast.ledger.checkpoints.write")
CALLS = ("open", "write", "fsync", "fdatasync", "close", "mkdir", "rename", "unlink", "rmdir", "_exchange")
"""By which a checkpoint is written, each a call of the system."""
Strike = Callable[[str, Callable[..., Any], Any, Any], Any]


@contextmanager
def on_every_call(calls: Iterable[str], strike: Strike) -> Iterator[None]:
    """`strike` is called instead, with the call's name, the call and its arguments."""

    def struck(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **named: strike(name, real, arguments, named)

    with pytest.MonkeyPatch.context() as patch:
        for name in calls:
            owner = os if hasattr(os, name) else _writing
            patch.setattr(owner, name, struck(name, getattr(owner, name)))
        yield


def version_of(root: Path) -> int:
    """Of the newest checkpoint, which is whole, and what `write` wrote."""
    found, rejected = checkpoints.newest(root)
    assert found is not None
    assert rejected == []
    with Reader(found.path) as reader:
        version: int = reader.meta["version"]
        assert {name: bytes(reader.bytes(name)) for name in reader.sections} == contents(state(version))
    return version


def write(root: Path, version: int) -> None:
    """Versions 0 and 1 are of one step, so the second takes the place of the first."""
    checkpoints.write(root, 1 + version // 2, state(version), {"version": version})
