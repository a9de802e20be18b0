"""Small pieces: the limits are far above what is usual here, and nobody gets past them unnoticed."""

import ast
from statistics import median

from house import FILES, Function, functions, shown, tree

LINES_OF_A_FILE = 450
LINES_OF_A_FUNCTION = 60
MEDIAN_LINES_OF_A_FUNCTION = 12
PARAMETERS_OF_A_CONSTRUCTOR = 9


def test_a_file_holds_one_thought() -> None:
    sizes = {shown(file): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert not {name: size for name, size in sizes.items() if size > LINES_OF_A_FILE}


def test_functions_are_short() -> None:
    sizes = {f"{where}: {f.name}": lines(f) for where, f in all_functions()}
    assert not {name: size for name, size in sizes.items() if size > LINES_OF_A_FUNCTION}


def test_constructors_take_few_parameters() -> None:
    widths = {f"{where}:{f.lineno}": width(f) for where, f in all_functions() if f.name == "__init__"}
    assert not {name: count for name, count in widths.items() if count > PARAMETERS_OF_A_CONSTRUCTOR}


def test_most_functions_are_very_short() -> None:
    assert median(lines(f) for _, f in all_functions()) < MEDIAN_LINES_OF_A_FUNCTION


def test_what_is_counted() -> None:
    (function,) = functions(ast.parse("@cached\ndef __init__(self, a, /, b, *c, d=1, **e):\n    pass\n\n    pass"))
    assert (lines(function), width(function)) == (4, 5)


def all_functions() -> list[tuple[str, Function]]:
    return [(shown(file), function) for file in FILES for function in functions(tree(file))]


def lines(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def width(function: Function) -> int:
    """How many parameters it takes besides `self`."""
    a = function.args
    named = len(a.posonlyargs) + len(a.args) + len(a.kwonlyargs)
    return named + (a.vararg is not None) + (a.kwarg is not None) - 1
