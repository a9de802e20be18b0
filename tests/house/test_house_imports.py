"""Imports point only downward through the rooms, wherever in a file they stand."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from house import FILES, SRC, shown, tree

DOWNWARD = (
    "cli",
    "service",
    "run",
    "engines",
    "sync",
    "split",
    "step",
    "planes",
    "models",
    "data",
    "ledger",
    "job",
    "faults",
    "errors",
)
# The front door stands outside the rooms: it shows what is in them, and no room may lean on it.
DOOR = ("__init__", "__main__")


def test_imports_point_downward() -> None:
    upward = [
        f"{shown(file)}:{line} imports from {room}"
        for file in FILES
        for line, room in imported(tree(file), package_of(file))
        if not may(room_of(file), room)
    ]
    assert not upward, "\n".join(upward)


def test_every_file_is_in_a_room_of_the_list() -> None:
    strays = [shown(file) for file in FILES if room_of(file) not in (*DOWNWARD, *DOOR)]
    assert not strays, f"DESIGN §3 has no room for {strays}"


@pytest.mark.parametrize(
    "text",
    [
        "import holdfast.run.view",
        "from holdfast.run import view",
        "from holdfast import run",
        "def late():\n    from holdfast.run.view import View",
        "if TYPE_CHECKING:\n    from holdfast.run.view import View",
        "from ..run import view",
        "import_module('holdfast.run.view')",
        "importlib.import_module('holdfast.run')",
    ],
)
def test_no_spelling_of_an_import_is_overlooked(text: str) -> None:
    assert [room for _, room in imported(ast.parse(text), "holdfast.step")] == ["run"]


def test_the_front_door_is_no_way_around() -> None:
    through = ast.parse("import holdfast\nfrom holdfast import Job, __version__")
    assert [room for _, room in imported(through, "holdfast.step")] == ["__init__", "Job"]
    assert not may("step", "__init__")
    assert not may("step", "Job")


def may(own: str, other: str) -> bool:
    if own not in DOWNWARD:  # the door; or a stray, which has a test of its own
        return True
    return other in DOWNWARD and DOWNWARD.index(own) <= DOWNWARD.index(other)


def room_of(file: Path) -> str:
    first = file.relative_to(SRC).parts[0]
    return first.removesuffix(".py")


def package_of(file: Path) -> str:
    return ".".join(("holdfast", *file.relative_to(SRC).parts[:-1]))


def imported(module: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """Line and room of every import of ours; the package's version is common property."""
    for node in ast.walk(module):
        for name in _names(node, package):
            top, _, rest = name.partition(".")
            if top == "holdfast" and rest != "__version__":
                yield node.lineno, rest.partition(".")[0] or "__init__"


def _names(node: ast.AST, package: str) -> list[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            place = ".".join([*above, *([node.module] if node.module else [])])
            return [f"{place}.{alias.name}" for alias in node.names]
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _called(node) in (
            "import_module",
            "__import__",
        ):
            return [name]
        case _:
            return []


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
