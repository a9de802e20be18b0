"""From `module:attr` and `file.py:attr` to the object, with a sentence for each way that this fails."""

import hashlib
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

from holdfast.errors import JobError
from holdfast.job.near import hint

LIVE = "<python>"
FILE_MODULE = "_holdfast_file_"

_base_dir: ContextVar[Path | None] = ContextVar("base_dir", default=None)


def is_import_path(use: str) -> bool:
    """Whether `use` points to code, rather than being a name of a catalogue."""
    return ":" in use


def resolve(use: str, base_dir: Path) -> Any:
    """The object that an import path points to; files and packages are looked for in `base_dir`, too."""
    place, _, attr = use.rpartition(":")
    if place == LIVE:
        raise JobError(f"`{use}` was a Python object, which no import can find again: pass it again from Python")
    if not place or not attr:
        raise JobError(f"`{use}` is not an import path: write `package.module:attr` or `path/file.py:attr`")
    module = _from_file(use, base_dir / place) if place.endswith(".py") else _from_path(use, place, base_dir)
    return _attribute(use, module, attr)


def called(use: str, function: Callable[[], Any], base_dir: Path) -> Any:
    """What the function that `use` points to returns; what it raises becomes a sentence with its line."""
    place = use.rpartition(":")[0]
    home = (base_dir / place).resolve().parent if place.endswith(".py") else base_dir
    code = getattr(function, "__code__", None)
    with _relative_to(home), _blaming(use, code and code.co_filename):
        return function()


def base_dir_now() -> Path:
    """Where relative paths start: beside the file being loaded, or else the working directory."""
    return _base_dir.get() or Path.cwd()


def _from_file(use: str, file: Path) -> ModuleType:
    path = file.resolve()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JobError(f"cannot read `{file}` for `{use}`: {error.strerror or error}") from None
    # The content is in the name, so that an edited file is another module and an unedited one is run once.
    digest = hashlib.sha256(bytes(path) + b"/" + content).hexdigest()[:12]
    name = f"{FILE_MODULE}{path.stem}_{digest}"
    return sys.modules.get(name) or _executed(use, name, path, content)


def _executed(use: str, name: str, path: Path, content: bytes) -> ModuleType:
    """Compiled here and not by an import, whose cache of bytecode misses an edit within the same second."""
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    _make_importable(path.parent)
    try:
        with _relative_to(path.parent), _blaming(use, str(path)):
            exec(compile(content, path, "exec"), vars(module))
    except BaseException:
        del sys.modules[name]
        raise
    _send_by_value(module)
    return module


def _send_by_value(module: ModuleType) -> None:
    """A worker cannot import this module by its made-up name, so its objects must carry their code along."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)


def _from_path(use: str, name: str, base_dir: Path) -> ModuleType:
    _make_importable(base_dir)
    try:
        with _blaming(use, None):
            return importlib.import_module(name)
    except JobError as error:
        missing = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
        if missing is None or not f"{name}.".startswith(f"{missing}."):
            raise
    raise JobError(f"there is no module `{missing}` for `{use}`, neither installed nor in {base_dir}") from None


def _attribute(use: str, module: ModuleType, attr: str) -> Any:
    found: Any = module
    for name in attr.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            public = [known for known in dir(found) if not known.startswith("_")]
            raise JobError(f"there is no `{name}` for `{use}`{hint(name, public)}") from None
    return found


def _make_importable(folder: Path) -> None:
    """Neighbours of a job file can be imported by it; last in line, so that they hide nothing installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


@contextmanager
def _relative_to(folder: Path) -> Iterator[None]:
    token = _base_dir.set(folder)
    try:
        yield
    finally:
        _base_dir.reset(token)


@contextmanager
def _blaming(use: str, file: str | None) -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:
        what = str(error) if isinstance(error, JobError) else f"{type(error).__name__}: {error}"
        raise JobError(f"`{use}` failed{_line_of(error, file)}: {what}") from error


def _line_of(error: BaseException, file: str | None) -> str:
    """The deepest line in the user's file, or else the deepest that is not ours."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" at {_shown(error.filename)}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    inside = [frame for frame in frames if frame.filename == file]
    return "".join(f" at {_shown(frame.filename)}:{frame.lineno}" for frame in (inside or frames)[-1:])


def _shown(filename: str) -> str:
    relative = os.path.relpath(filename)
    return filename if relative.startswith("..") else relative
