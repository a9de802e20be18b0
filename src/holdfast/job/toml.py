"""Job files: TOML in, with the line of a mistake, and TOML out."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import JobError
from holdfast.job.spec import OFF, Spec

HEADS = ("use", "kind")


def read(path: Path) -> dict[str, Any]:
    """The tables of a job file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        what, line = _split(str(error), path)
        raise JobError(f"{path}:{line}: this is not TOML: {what}") from None
    except UnicodeDecodeError as error:
        raise JobError(f"{path} is not a job file: its byte {error.start} is not UTF-8 text") from None
    except OSError as error:
        raise JobError(f"cannot read the job file {path}: {error.strerror or error}") from None


def write(job: Spec) -> str:
    """All that can be said, section by section; what is off by default stays unsaid."""
    plain = [name for name in type(job).model_fields if not isinstance(getattr(job, name), Spec)]
    sections = [name for name in type(job).model_fields if name not in plain]
    blocks = ["\n".join(f"{name} = {spelled(getattr(job, name))}" for name in plain)]
    blocks += ["\n".join([f"[{name}]", *_lines(getattr(job, name))]) for name in sections]
    return "\n\n".join(blocks) + "\n"


def spelled(value: Any) -> str:
    """One value, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {spelled(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(spelled, value)) + "]"
    return repr(value)


def _lines(section: Spec) -> Iterator[str]:
    dumped = section.model_dump(mode="json")
    for name, field in sorted(type(section).model_fields.items(), key=lambda item: item[0] not in HEADS):
        if dumped[name] is not None:
            yield f"{name} = {spelled(_said(dumped[name]))}"
        elif field.default is not None:
            yield f"{name} = {spelled(OFF)}"


def _said(value: Any) -> Any:
    """Without the Nones of specs in lists, which are all off by default; arguments hold none."""
    if isinstance(value, list):
        return [_said(item) for item in value]
    return {k: _said(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else spelled(name)


def _split(message: str, path: Path) -> tuple[str, int]:
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.DOTALL)
    if found is None:
        return message, 1
    return found[1], int(found[2]) if found[2] else len(path.read_text(encoding="utf-8").splitlines()) or 1
