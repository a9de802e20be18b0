"""The layout of a checkpoint, shared by its writer and its reader.

    step-00001000/
        state.safetensors   all sections, one after another, as any safetensors reader understands them
        manifest.json       step, meta, and for each section its place and the CRC-32 of every 4 MiB of it
        COMMITTED           SHA-256 of the manifest; written last, so a directory without it was cut short

The manifest vouches for every byte of the data, and the marker for every byte of the manifest. While it is
written, a checkpoint is a draft: its directory is named `step-00001000.tmp-<pid>-<nonce>`.
"""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

from holdfast.errors import CheckpointError

FORMAT = 1
DATA, MANIFEST, MARKER = "state.safetensors", "manifest.json", "COMMITTED"
CHUNK_BYTES = 4 << 20  # a part of the format: changing it changes FORMAT

_STEP_NAME = re.compile(r"step-(\d{8,})")
_DRAFT_NAME = re.compile(r"step-\d{8,}\.tmp-(\d+)-[0-9a-f]+")
_DATA_ALIGNMENT = 64  # where the first section begins in the file, so that it can be mapped as a buffer
_ITEM_BYTES = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"), 1),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 8),
}


class CorruptError(CheckpointError):
    """A checkpoint that cannot be used; `reason` says why without naming its path."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"checkpoint {path} cannot be used: {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Section:
    """A named tensor to be written: its safetensors dtype (`F32`), its shape and its bytes, C-contiguous.

    The bytes are not copied; they must not change until `write` has returned.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: memoryview


@dataclass(frozen=True, slots=True)
class Entry:
    """A section as the manifest describes it; `offset` counts from the beginning of the data file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    bytes: int
    crc32: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a checkpoint holds and how to tell that it is all there."""

    step: int
    time: float
    meta: dict[str, Any]
    header_bytes: int
    header_crc32: int
    sections: tuple[Entry, ...]

    @property
    def data_bytes(self) -> int:
        return self.header_bytes + sum(entry.bytes for entry in self.sections)


@dataclass(frozen=True, slots=True)
class CheckpointInfo:
    """A checkpoint that was whole when it was last looked at; `bytes` are those of its data file."""

    step: int
    path: Path
    bytes: int
    time: float
    sha256: str


def encode_manifest(manifest: Manifest) -> bytes:
    content = {"format": FORMAT, **asdict(manifest)}
    return json.dumps(content).encode()


def decode_manifest(text: bytes) -> Manifest:
    """Raises ValueError, with the reason, for a manifest that this version cannot read."""
    content = json.loads(text)
    if (found := content.pop("format")) != FORMAT:
        raise ValueError(f"its format is {found}, and this version of holdfast reads {FORMAT}")
    entries = [_decode_entry(entry) for entry in content.pop("sections")]
    return Manifest(sections=tuple(entries), **content)


def safetensors_header(sections: Sequence[Section], step: int) -> bytes:
    """The beginning of the data file, up to the first section; sections that cannot be stored are refused."""
    header: dict[str, Any] = {"__metadata__": {"format": "holdfast", "step": str(step)}}
    begin = 0
    for section in sections:
        _refuse_misfit(section, header)
        end = begin + section.data.nbytes
        header[section.name] = {
            "dtype": section.dtype,
            "shape": list(section.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _DATA_ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def chunks(view: memoryview) -> Iterator[memoryview]:
    """The bytes of `view` in the pieces that have a checksum each; none if it is empty."""
    if view.nbytes:
        flat = view.cast("B")
        for begin in range(0, flat.nbytes, CHUNK_BYTES):
            yield flat[begin : begin + CHUNK_BYTES]


def step_path(root: Path, step: int) -> Path:
    return root / f"step-{step:08d}"


def draft_path(root: Path, step: int) -> Path:
    """A fresh name for a directory of this step that is not, or no longer, a checkpoint."""
    return root / f"{step_path(root, step).name}.tmp-{os.getpid()}-{os.urandom(4).hex()}"


def step_of(path: Path) -> int | None:
    """The step of a finished checkpoint's directory; none for any other name."""
    found = _STEP_NAME.fullmatch(path.name)
    return int(found[1]) if found else None


def draft_pid(path: Path) -> int | None:
    """The process that writes, or wrote, a draft; none for any other name."""
    found = _DRAFT_NAME.fullmatch(path.name)
    return int(found[1]) if found else None


def discard(path: Path) -> None:
    """Remove a draft, whatever it is; what cannot be removed stays for a later sweep."""
    with contextlib.suppress(OSError):  # `rmtree` does not ignore all of them
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _decode_entry(entry: dict[str, Any]) -> Entry:
    return Entry(**entry | {"shape": tuple(entry["shape"]), "crc32": tuple(entry["crc32"])})


def _refuse_misfit(section: Section, header: dict[str, Any]) -> None:
    if section.name in header:
        raise CheckpointError(f"section name `{section.name}` is taken already; give each section its own")
    if section.dtype not in _ITEM_BYTES:
        raise CheckpointError(
            f"section `{section.name}` has dtype `{section.dtype}`; use one of {', '.join(_ITEM_BYTES)}"
        )
    expected = prod(section.shape) * _ITEM_BYTES[section.dtype]
    if section.data.nbytes != expected or not section.data.c_contiguous:
        raise CheckpointError(
            f"section `{section.name}` has {section.data.nbytes} bytes; "
            f"shape {section.shape} of {section.dtype} needs {expected}, contiguous"
        )
