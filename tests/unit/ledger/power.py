"""What a power cut may leave of what a process did to its files, by the strictest reading of POSIX.

`Recorder` notes all that is done below a directory. `aftermaths` gives what may be found if the power fails after any
of it. What was synced is there. Of what was not, any part may be: of each write nothing, a beginning, zeros in its
place or all of it; of the changes of a directory any, in spite of their order. That is worse than what real file
systems do.
"""

import importlib
import itertools
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import pytest

Tree = tuple[tuple[str, "Tree | bytes"], ...]
"""Names and what they stand for, in order: directories and files."""
_FULL = 128
"""So many uncertain outcomes are tried out one by one; of more, so many are drawn."""
_writing = importlib.import_module("holdfast.ledger.checkpoints.write")


@dataclass(frozen=True)
class Write:
    """Bytes that were written to a file."""

    node: int
    offset: int
    data: bytes


@dataclass(frozen=True)
class Change:
    """Names in one directory that stand for something else now, or for nothing."""

    node: int
    names: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class Sync:
    """All that was done to a file or a directory before is safe."""

    node: int


@dataclass(frozen=True)
class Said:
    """What the process told the world: from here on it must be true."""

    what: str


Deed = Write | Change | Sync | Said


class Recorder:
    """The deeds below `root`, which is there and empty. Files and directories are numbers; `root` is 0."""

    def __init__(self, root: Path) -> None:
        self.deeds: list[Deed] = []
        self.directories = {0}
        self._root = root
        self._entries: dict[int, dict[str, int]] = {0: {}}
        self._sizes: dict[int, int] = {}
        self._opened: dict[int, int] = {}

    def say(self, what: str) -> None:
        self.deeds.append(Said(what))

    @contextmanager
    def recording(self) -> Iterator[None]:
        notes = {
            "open": self._open,
            "close": self._close,
            "write": self._write,
            "fsync": self._sync,
            "fdatasync": self._sync,
            "mkdir": self._mkdir,
            "rename": self._rename,
            "unlink": self._unlink,
            "rmdir": self._unlink,
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, note in notes.items():
                patch.setattr(os, name, _noted(getattr(os, name), note))
            patch.setattr(_writing, "_exchange", _noted(_writing._exchange, self._exchange))
            yield

    def _open(self, fd: int, path: Any, flags: int, _mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if dir_fd is None and not Path(path).is_relative_to(self._root):
            return
        if flags & os.O_CREAT:
            directory, name = self._place(path, dir_fd)
            self._change(directory, {name: self._new()})
        self._opened[fd] = self._node(path, dir_fd)

    def _close(self, _: None, fd: int) -> None:
        self._opened.pop(fd, None)

    def _write(self, count: int, fd: int, data: Any) -> None:
        if fd in self._opened:
            node = self._opened[fd]
            self.deeds.append(Write(node, self._sizes[node], bytes(data)[:count]))
            self._sizes[node] += count

    def _sync(self, _: None, fd: int) -> None:
        if fd in self._opened:
            self.deeds.append(Sync(self._opened[fd]))

    def _mkdir(self, _: None, path: Any, _mode: int = 0o777) -> None:
        directory, name = self._place(path, None)
        node = self._new()
        self.directories.add(node)
        self._entries[node] = {}
        self._change(directory, {name: node})

    def _rename(self, _: None, source: Any, target: Any) -> None:
        (directory, old), (other, new) = self._place(source, None), self._place(target, None)
        assert directory == other, "between directories it would not be one change"
        self._change(directory, {old: None, new: self._entries[directory][old]})

    def _exchange(self, done: bool, one: Path, other: Path) -> None:
        (directory, first), (_, second) = self._place(one, None), self._place(other, None)
        entries = self._entries[directory]
        if done:
            self._change(directory, {first: entries[second], second: entries[first]})

    def _unlink(self, _: None, path: Any, *, dir_fd: int | None = None) -> None:
        directory, name = self._place(path, dir_fd)
        self._change(directory, {name: None})

    def _place(self, path: Any, dir_fd: int | None) -> tuple[int, str]:
        """The directory of a path, and its name there."""
        if dir_fd is not None:
            return self._opened[dir_fd], os.fspath(path)
        *above, name = Path(path).relative_to(self._root).parts
        node = 0
        for part in above:
            node = self._entries[node][part]
        return node, name

    def _node(self, path: Any, dir_fd: int | None) -> int:
        if dir_fd is None and Path(path) == self._root:
            return 0
        directory, name = self._place(path, dir_fd)
        return self._entries[directory][name]

    def _new(self) -> int:
        node = len(self._sizes) + 1
        self._sizes[node] = 0
        return node

    def _change(self, directory: int, names: dict[str, int | None]) -> None:
        _apply(self._entries[directory], names.items())
        self.deeds.append(Change(directory, tuple(names.items())))


@dataclass(frozen=True)
class Aftermath:
    """What may be found, and all that had been said by then."""

    tree: Tree
    said: tuple[str, ...]


def aftermaths(recorder: Recorder, seed: int) -> set[Aftermath]:
    """What may be found after a power cut at any moment. Where that is too much, a part of it, drawn by the seed."""
    chance = random.Random(seed)
    found = set()
    for moment in range(len(recorder.deeds) + 1):
        past = recorder.deeds[:moment]
        said = tuple(deed.what for deed in past if isinstance(deed, Said))
        found |= {Aftermath(_tree(past, fates, recorder.directories), said) for fates in _fates(past, chance)}
    return found


def lay_out(tree: Tree, root: Path) -> None:
    root.mkdir()
    for name, content in tree:
        if isinstance(content, bytes):
            (root / name).write_bytes(content)
        else:
            lay_out(content, root / name)


def _fates(past: list[Deed], chance: random.Random) -> Iterator[dict[int, str]]:
    """For each deed that is not safe, what may have become of it."""
    uncertain = {
        index: ("lost", "whole", "torn", "zeros") if isinstance(deed, Write) else ("lost", "whole")
        for index, deed in enumerate(past)
        if isinstance(deed, Write | Change) and Sync(deed.node) not in past[index:]
    }
    for fates in _outcomes(list(uncertain.values()), chance):
        yield dict(zip(uncertain, fates, strict=True))


def _outcomes(choices: list[tuple[str, ...]], chance: random.Random) -> Iterator[tuple[str, ...]]:
    if prod(map(len, choices)) <= _FULL:
        yield from itertools.product(*choices)
        return
    size = len(choices)
    for index in range(size):
        # What file systems do: all up to some point. And what they may do: all from there on, all but one.
        yield ("whole",) * index + ("lost",) * (size - index)
        yield ("lost",) * index + ("whole",) * (size - index)
        yield ("whole",) * index + ("lost",) + ("whole",) * (size - index - 1)
    yield ("whole",) * size
    for _ in range(_FULL):
        yield tuple(chance.choice(each) for each in choices)


def _tree(past: list[Deed], fates: dict[int, str], directories: set[int]) -> Tree:
    contents: dict[int, bytearray] = {}
    entries: dict[int, dict[str, int]] = {}
    for index, deed in enumerate(past):
        match deed:
            case Write(node, offset, data):
                _survive(contents.setdefault(node, bytearray()), offset, data, fates.get(index, "whole"))
            case Change(node, names) if fates.get(index, "whole") == "whole":
                _apply(entries.setdefault(node, {}), names)

    def below(node: int) -> Tree:
        return tuple(
            (name, below(child) if child in directories else bytes(contents.get(child, b"")))
            for name, child in sorted(entries.get(node, {}).items())
        )

    return below(0)


def _apply(entries: dict[str, int], names: Any) -> None:
    for name, node in names:
        entries.pop(name, None)
        if node is not None:
            entries[name] = node


def _survive(content: bytearray, offset: int, data: bytes, fate: str) -> None:
    left = {"lost": b"", "torn": data[: len(data) // 2], "zeros": bytes(len(data)), "whole": data}[fate]
    if left:
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(left)] = left


def _noted(real: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        result = real(*arguments, **named)
        note(result, *arguments, **named)
        return result

    return call
