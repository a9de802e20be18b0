"""Every room says what it is for, and nothing is called by a name that says nothing."""

import ast
import re
from pathlib import Path

import pytest

from house import FILES, ROOMS, SRC, functions, shown, tree

EMPTY_NAMES = re.compile(r"(?:^|_)(?:managers?|utils?|utilities|helpers?|misc)(?:_|$)")


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_every_room_has_a_readme(room: Path) -> None:
    readme = room / "README.md"
    assert readme.is_file(), f"{room.name}/ needs a README.md: what lives here, what may not"
    assert len(readme.read_text(encoding="utf-8").split()) >= 30


def test_names_say_something() -> None:
    empty = [f"{shown(file)}: {name}" for file in FILES for name in _names(file) if says_nothing(name)]
    assert not empty, "name these by what they do:\n" + "\n".join(empty)


@pytest.mark.parametrize("name", ["utils", "run_utils", "ModelManager", "HelperThing", "misc", "_manager", "IOUtil"])
def test_empty_names_are_found(name: str) -> None:
    assert says_nothing(name)


@pytest.mark.parametrize("name", ["permission", "utilisation", "contextmanager", "miscount", "run"])
def test_other_names_are_not(name: str) -> None:
    assert not says_nothing(name)


def says_nothing(name: str) -> bool:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return bool(EMPTY_NAMES.search(words))


def _names(file: Path) -> list[str]:
    module = tree(file)
    classes = [node.name for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    path = file.relative_to(SRC).with_suffix("").parts
    return [*path, *classes, *(function.name for function in functions(module))]
