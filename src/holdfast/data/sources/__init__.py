"""The built-in sources, by name; each is imported only when it is used."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.data.adapt import as_dataset
from holdfast.data.source import Dataset
from holdfast.errors import DataError, HoldfastError, JobError
from holdfast.job.imports import resolve
from holdfast.job.near import hint


@dataclass(frozen=True)
class Entry:
    """What a catalogue shows of a source, and the module in this folder whose `load` makes it."""

    doc: str
    module: str

    @property
    def factory(self) -> Callable[..., Dataset]:
        load: Callable[..., Dataset] = import_module(f"{__name__}.{self.module}").load
        return load


SOURCES: dict[str, Entry] = {
    "access_log": Entry("clicks in a (by default synthetic) access log, users split by hash; binary", "access_log"),
    "breast_cancer": Entry("569 tumours, 30 measurements; binary", "breast_cancer"),
    "csv": Entry("a file of numbers with a header: `path`, `target`", "csv"),
    "diabetes": Entry("442 patients, 10 measurements; regression", "diabetes"),
    "digits": Entry("1,797 handwritten digits of 8 x 8 pixels; classification", "digits"),
    "random": Entry("noise with a truth in it, of any size, for benchmarks; classification", "random"),
    "stdlib_text": Entry("the characters of Python's standard library; language", "stdlib_text"),
}


def load(use: str, args: Mapping[str, Any], base_dir: Path, live: object | None = None) -> Dataset:
    """The data that a job means: the object `live` if there is one, a built-in source, or an import path.

    A class or function is called with `args`; a relative `path` among them is taken from `base_dir`.
    """
    if live is None and use in SOURCES:
        maker: object = SOURCES[use].factory
    elif live is None and ":" not in use:
        raise JobError(f"unknown data `{use}`{hint(use, SOURCES)} (or give an import path, `module:attr`)")
    else:
        maker = resolve(use, base_dir) if live is None else live
    return as_dataset(_make(use, maker, _with_path(args, base_dir)))


def _with_path(args: Mapping[str, Any], base_dir: Path) -> dict[str, Any]:
    path = args.get("path")
    return {**args, "path": str(base_dir / path)} if isinstance(path, str) else dict(args)


def _make(use: str, maker: object, args: dict[str, Any]) -> object:
    if not callable(maker) or _is_data(maker):
        if args:
            raise JobError(f"data.args are for a callable, but `{use}` is a {type(maker).__name__}: remove them")
        return maker
    _check_args(use, maker, args)
    try:
        return maker(**args)
    except HoldfastError:
        raise
    except Exception as error:
        raise DataError(f"the data `{use}` failed: {type(error).__name__}: {error}{_line(error)}") from error


def _is_data(thing: object) -> bool:
    return hasattr(thing, "__len__") and not inspect.isclass(thing)


def _check_args(use: str, maker: Callable[..., object], args: dict[str, Any]) -> None:
    try:
        signature = inspect.signature(maker)
    except ValueError:  # some callables written in C have none
        return
    try:
        signature.bind(**args)
    except TypeError as error:
        known = list(signature.parameters)
        stranger = next((name for name in args if name not in known), None)
        if stranger is None:
            raise JobError(f"data.args of `{use}`: {error}") from None
        raise JobError(f"data.args.{stranger} is unknown to `{use}`{hint(stranger, known)}") from None


def _line(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})" if trace else ""
