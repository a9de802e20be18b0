"""What goes to stdout: one JSON object, or text that lines up."""

import json
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any


def print_json(thing: Any, indent: int | None = 2) -> None:
    """JSON knows no NaN and no infinity; they become null."""
    print(json.dumps(_finite(thing), indent=indent, ensure_ascii=False, allow_nan=False), flush=True)


def print_columns(rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; the last one may be as long as it likes."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def print_facts(facts: dict[str, str]) -> None:
    """Names and values, without those that have none."""
    print_columns([name, value] for name, value in facts.items() if value)


def moment(seconds: float | None) -> str:
    return "–" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def size(count: float) -> str:
    """Bytes, for people."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def _finite(thing: Any) -> Any:
    if isinstance(thing, float):
        return thing if math.isfinite(thing) else None
    if isinstance(thing, dict):
        return {str(key): _finite(value) for key, value in thing.items()}
    return [_finite(item) for item in thing] if isinstance(thing, list | tuple) else thing
