"""Every place at which a process may be made to die is listed, is in the code, and is there once."""

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from holdfast.faults import POINTS
from house import FILES, tree


def test_all_points_are_listed_and_each_is_in_one_place() -> None:
    found = Counter(name for file in FILES for name in points_of(tree(file)))
    assert found == Counter(dict.fromkeys(POINTS, 1))


@pytest.mark.parametrize(
    ("text", "names"),
    [("fence('a')", ["a"]), ("faults.reached('b')", ["b"]), ("reached(name)", ["?"]), ("reached()", [])],
)
def test_what_is_a_point(text: str, names: list[str]) -> None:
    assert list(points_of(ast.parse(text))) == names


def points_of(module: ast.Module) -> Iterator[str]:
    """The names of all points; `?` for one that is no literal."""
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Name("fence" | "reached"), args=[ast.Constant(str(name))]):
                yield name
            case ast.Call(func=ast.Attribute(attr="reached"), args=[ast.Constant(str(name))]):
                yield name
            case ast.Call(func=ast.Name("fence" | "reached"), args=[_]):
                yield "?"
