"""A language to model that every machine has: the characters of Python's own standard library."""

import sysconfig
from pathlib import Path

import numpy as np
import torch

from holdfast.data.order import Indices
from holdfast.data.source import Dataset
from holdfast.errors import DataError, JobError


class WindowSource:
    """Windows of `context` tokens, one every `stride` tokens, each with the tokens that follow its own."""

    def __init__(self, tokens: torch.Tensor, context: int, stride: int) -> None:
        if len(tokens) <= context:
            raise DataError(f"{len(tokens)} tokens hold no window of {context} and one more: lower the context")
        self._windows = tokens.unfold(0, context + 1, stride)

    def __len__(self) -> int:
        return len(self._windows)

    def fetch(self, indices: Indices) -> tuple[torch.Tensor, torch.Tensor]:
        windows = self._windows.index_select(0, torch.from_numpy(indices))
        return windows[:, :-1].contiguous(), windows[:, 1:].contiguous()


def load(context: int = 64, max_bytes: int = 1_000_000, test: float = 0.1) -> Dataset:
    """The first `max_bytes` of the library's modules in the order of their names; the end of it is the test.

    Training windows start at every character; test windows do not overlap, so that each is judged once.
    The text, and so the bits of the model, are those of the Python at hand. `info["characters"]` decodes it.
    """
    if context < 1 or not 0 < test < 1:
        raise JobError(f"context must be 1 or more and test between 0 and 1, not {context} and {test}")
    text = np.frombuffer(_text(max_bytes).encode("utf-32-le"), np.uint32)
    characters, ids = np.unique(text, return_inverse=True)
    tokens = torch.from_numpy(ids.astype(np.int64))
    boundary = int(len(tokens) * (1 - test))
    info = {
        "task": "language",
        "vocabulary_size": len(characters),
        "context": context,
        "characters": "".join(map(chr, characters.tolist())),
    }
    return Dataset(WindowSource(tokens[:boundary], context, 1), WindowSource(tokens[boundary:], context, context), info)


def _text(max_bytes: int) -> str:
    folder = Path(sysconfig.get_paths()["stdlib"])
    data = b""
    for path in sorted(folder.glob("*.py"), key=lambda path: path.name):
        data += path.read_bytes()
        if len(data) >= max_bytes:
            break
    if not data:
        raise DataError(f"the standard library at {folder} has no source files: use another text")
    return data[:max_bytes].decode("utf-8", errors="replace")
