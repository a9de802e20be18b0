"""The hash of a live object's content, so that a fingerprint can speak for objects, too.

The object is pickled into a hash. On the way, what pickle would name or copy wholesale is replaced by its
meaning: tensors, arrays and data frames by their values; the user's own classes and functions by their
source, what that source refers to, and the values it closes over. Installed code counts by name: its version
is part of the environment.
"""

import hashlib
import inspect
import io
import pickle
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from holdfast.errors import JobError
from holdfast.job.live import is_importable

CONSTANTS = (int, float, complex, str, bytes, tuple, frozenset, type(None))

Reduced = tuple[Callable[..., Any], tuple[Any, ...]] | tuple[Callable[..., Any], tuple[Any, ...], Any]


def identity(role: str, thing: Any) -> str:
    """ "sha256:" and the hash of the content; JobError if the content cannot be told."""
    try:
        return f"sha256:{_hash(thing)}"
    except Exception as error:
        name = getattr(thing, "__qualname__", type(thing).__qualname__)
        raise JobError(
            f"the {role} `{name}` cannot be sent to workers, because it cannot be pickled ({error}): "
            "open files, locks and the like inside the function or dataset that uses them"
        ) from error


def _hash(thing: Any) -> str:
    sink = _Sink()
    _Content(sink, protocol=5).dump(thing)
    return sink.hash.hexdigest()


class _Sink(io.RawIOBase):
    def __init__(self) -> None:
        super().__init__()
        self.hash = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)


class _Content(pickle.Pickler):
    def persistent_id(self, thing: Any) -> Any:
        """Sets, whose order differs between processes, in an order of their own."""
        if not isinstance(thing, set | frozenset):
            return None
        return type(thing).__qualname__, sorted(_hash(item) for item in thing)

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, ModuleType):
            return str, (thing.__name__,)
        if isinstance(thing, type | FunctionType):
            by_name = _is_installed(thing.__module__) and is_importable(thing)
            return NotImplemented if by_name else _code(thing)
        for module, kind, reduce in VALUES:
            if module in sys.modules and isinstance(thing, getattr(sys.modules[module], kind)):
                return reduce(thing)
        return NotImplemented


def _tensor(tensor: Any) -> Reduced:
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return _hashed(
        f"{type(tensor).__name__} {tensor.dtype} {tuple(tensor.shape)} {tensor.requires_grad}",
        memoryview(flat.view(torch.uint8).numpy()),
    )


def _array(array: Any) -> Any:
    if array.dtype.hasobject:
        return NotImplemented
    import numpy

    flat = numpy.ascontiguousarray(array).reshape(-1)
    return _hashed(f"array {array.dtype!r} {array.shape}", flat.view(numpy.uint8).data)


def _frame(frame: Any) -> Reduced:
    columns = [(name, str(column.dtype), column.to_numpy()) for name, column in frame.items()]
    return str, ("frame",), columns


VALUES = (("torch", "Tensor", _tensor), ("numpy", "ndarray", _array), ("pandas", "DataFrame", _frame))


def _hashed(what: str, content: memoryview) -> Reduced:
    return str, (f"{what} {hashlib.sha256(content).hexdigest()}",)


def _code(thing: type | FunctionType) -> Reduced:
    # Pickle remembers an object before it saves its state: a function may refer to itself there.
    return str, (thing.__qualname__, _source(thing)), list(_context(thing))


def _source(thing: type | FunctionType) -> Any:
    """The text; or the bytecode of lambdas (their text would be all of their line) and of typed-in code."""
    if thing.__name__ != "<lambda>":
        try:
            return inspect.getsource(thing)
        except (OSError, TypeError):
            pass
    return [_bytecode(function.__code__) for function in _functions(thing)]


def _bytecode(code: CodeType) -> tuple[Any, ...]:
    constants = [_bytecode(item) if isinstance(item, CodeType) else item for item in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants


def _context(thing: type | FunctionType) -> Iterator[Any]:
    """What the text alone does not say: base classes, defaults, closures, and the globals it names."""
    if isinstance(thing, type):
        yield thing.__bases__
    for function in _functions(thing):
        yield function.__defaults__, function.__kwdefaults__
        yield [_inside(cell) for cell in function.__closure__ or ()]
        yield list(_named_globals(function))


def _named_globals(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name in sorted(set(_names(function.__code__))):
        value = function.__globals__.get(name)
        if isinstance(value, (*CONSTANTS, type, FunctionType)):
            yield name, value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _names(item)


def _functions(thing: type | FunctionType) -> list[FunctionType]:
    if isinstance(thing, FunctionType):
        return [thing]
    return [member for member in vars(thing).values() if isinstance(member, FunctionType)]


def _inside(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing was assigned to it yet
        return None


@cache
def _is_installed(module: str | None) -> bool:
    """Whether the code came with Python, holdfast or another package; what has no file is built in."""
    if module is None or module == "__main__":
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or module.partition(".")[0] == "holdfast":
        return True
    paths = sysconfig.get_paths()
    return any(file.startswith(paths[kind]) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))
