"""The house as text: its files, parsed."""

import ast
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[2] / "src" / "holdfast"
FILES = sorted(SRC.rglob("*.py"))
ROOMS = sorted(path for path in SRC.iterdir() if path.is_dir() and any(path.glob("*.py")))

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), file)


def functions(module: ast.Module) -> list[Function]:
    return [node for node in ast.walk(module) if isinstance(node, Function)]


def shown(file: Path) -> str:
    return str(file.relative_to(SRC))
