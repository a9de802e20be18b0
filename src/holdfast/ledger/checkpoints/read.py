"""Reading a checkpoint, believing none of it before its checksum agrees."""

import difflib
import hashlib
import os
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from holdfast.errors import CheckpointError
from holdfast.ledger.checkpoints.layout import (
    CHUNK_BYTES,
    DATA,
    MANIFEST,
    MARKER,
    CheckpointInfo,
    CorruptError,
    Entry,
    Manifest,
    chunks,
    decode_manifest,
)


class Reader:
    """An open checkpoint: opening checks its marker, its manifest and the size of its data; reading the rest.

    Raises CorruptError for whatever does not agree. Several threads may read at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        text, self._sha256 = _vouched_manifest(path)
        self._manifest = _decoded(path, text)
        self.sections = {entry.name: entry for entry in self._manifest.sections}
        self._fd = _open_data(path, self._manifest.data_bytes)

    @property
    def step(self) -> int:
        return self._manifest.step

    @property
    def meta(self) -> dict[str, Any]:
        return self._manifest.meta

    @property
    def info(self) -> CheckpointInfo:
        """The checkpoint in brief, as `write` reported it."""
        kept = self._manifest
        return CheckpointInfo(kept.step, self.path, kept.data_bytes, kept.time, self._sha256)

    def read_into(self, name: str, target: memoryview) -> None:
        """Fills `target` with a section of exactly its length; after an error it may hold anything."""
        entry = self._entry(name)
        if target.nbytes != entry.bytes:
            raise CheckpointError(
                f"section `{name}` of checkpoint {self.path} has {entry.bytes} bytes, not {target.nbytes}; "
                "resume with the job that wrote it"
            )
        for index, chunk in enumerate(chunks(target)):
            self._read_chunk(entry, index, chunk)

    def bytes(self, name: str) -> bytearray:
        """A section's content."""
        content = bytearray(self._entry(name).bytes)
        self.read_into(name, memoryview(content))
        return content

    def check(self) -> None:
        """Reads all of the data; raises CorruptError for the first piece that is not as it was written."""
        scratch = memoryview(bytearray(max(CHUNK_BYTES, self._manifest.header_bytes)))
        header = scratch[: self._manifest.header_bytes]
        self._fill(header, 0)
        if zlib.crc32(header) != self._manifest.header_crc32:
            raise CorruptError(self.path, f"the header of {DATA} is corrupt")
        for entry in self._manifest.sections:
            for index in range(len(entry.crc32)):
                size = min(CHUNK_BYTES, entry.bytes - index * CHUNK_BYTES)
                self._read_chunk(entry, index, scratch[:size])

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _entry(self, name: str) -> Entry:
        if name in self.sections:
            return self.sections[name]
        near = difflib.get_close_matches(name, self.sections, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "resume with the job that wrote it"
        raise CheckpointError(f"checkpoint {self.path} has no section `{name}`; {hint}")

    def _read_chunk(self, entry: Entry, index: int, target: memoryview) -> None:
        self._fill(target, entry.offset + index * CHUNK_BYTES)
        if zlib.crc32(target) != entry.crc32[index]:
            raise CorruptError(self.path, f"chunk {index} of section `{entry.name}` is corrupt")

    def _fill(self, target: memoryview, offset: int) -> None:
        while target:
            try:
                count = os.preadv(self._fd, [target], offset)
            except OSError as error:
                raise CorruptError(self.path, f"{DATA} cannot be read ({error.strerror})") from error
            if count == 0:
                raise CorruptError(self.path, f"{DATA} ends too early")
            target, offset = target[count:], offset + count


def verify(path: Path) -> str | None:
    """Why the checkpoint cannot be used, after reading every byte of it; none if it is whole."""
    try:
        with Reader(path) as reader:
            reader.check()
    except CorruptError as error:
        return error.reason
    return None


def _vouched_manifest(path: Path) -> tuple[bytes, str]:
    marker = _content(path, MARKER, "there is no COMMITTED marker, so its writing was cut short")
    text = _content(path, MANIFEST, f"{MANIFEST} is missing")
    digest = hashlib.sha256(text).hexdigest()
    if marker != f"{digest}\n".encode():
        raise CorruptError(path, f"{MANIFEST} does not have the checksum in {MARKER}")
    return text, digest


def _content(path: Path, name: str, if_missing: str) -> bytes:
    try:
        return (path / name).read_bytes()
    except FileNotFoundError as error:
        raise CorruptError(path, if_missing) from error
    except OSError as error:
        raise CorruptError(path, f"{name} cannot be read ({error.strerror})") from error


def _decoded(path: Path, text: bytes) -> Manifest:
    try:
        return decode_manifest(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptError(path, f"{MANIFEST} cannot be understood ({error})") from error


def _open_data(path: Path, expected: int) -> int:
    try:
        fd = os.open(path / DATA, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise CorruptError(path, f"{DATA} is missing") from error
    except OSError as error:
        raise CorruptError(path, f"{DATA} cannot be read ({error.strerror})") from error
    size = os.fstat(fd).st_size
    if size != expected:
        os.close(fd)
        raise CorruptError(path, f"{DATA} has {size} bytes where {expected} were written")
    return fd
