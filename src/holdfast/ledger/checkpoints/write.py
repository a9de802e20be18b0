"""Writing a checkpoint: whole in its place, or not there at all."""

import ctypes
import errno
import hashlib
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from holdfast.errors import CheckpointError
from holdfast.faults import reached
from holdfast.ledger.checkpoints.layout import (
    DATA,
    MANIFEST,
    MARKER,
    CheckpointInfo,
    Entry,
    Manifest,
    Section,
    chunks,
    discard,
    draft_path,
    encode_manifest,
    safetensors_header,
    step_of,
    step_path,
)

_SETTLE_BYTES = 64 << 20
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def write(
    root: Path,
    step: int,
    sections: Iterable[Section],
    meta: dict[str, Any],
    progress: Callable[[int], None] | None = None,
) -> CheckpointInfo:
    """Writes the checkpoint of a step below `root`, in place of one of the same step.

    May run in a thread beside training: the GIL is released while bytes are summed, written and synced.
    `meta` is any JSON; `progress` is told the bytes written so far. A failure leaves nothing behind.
    """
    draft = draft_path(root, step)
    try:
        _make(root)
        draft.mkdir()
        reached("draft.begun")
        manifest = _write_data(draft / DATA, step, list(sections), meta, progress)
        digest = _commit(draft, manifest)
        _put_in_place(draft, step_path(root, step))
    except OSError as error:
        raise CheckpointError(_failure(root, step, error)) from error
    finally:
        discard(draft)  # the one of the same step that was there before, if all went well
    return CheckpointInfo(step, step_path(root, step), manifest.data_bytes, manifest.time, digest)


def _write_data(
    path: Path,
    step: int,
    sections: list[Section],
    meta: dict[str, Any],
    progress: Callable[[int], None] | None,
) -> Manifest:
    header = safetensors_header(sections, step)
    entries: list[Entry] = []
    offset = len(header)
    fd = _create(path)
    try:
        _write_all(fd, memoryview(header))
        for section in sections:
            crc32 = _write_section(fd, section, offset, progress)
            size = section.data.nbytes
            entries.append(Entry(section.name, section.dtype, tuple(section.shape), offset, size, crc32))
            offset += size
        os.fsync(fd)
        reached("data.written")
    finally:
        os.close(fd)
    return Manifest(step, time.time(), meta, len(header), zlib.crc32(header), tuple(entries))


def _write_section(fd: int, section: Section, offset: int, progress: Callable[[int], None] | None) -> tuple[int, ...]:
    crc32 = []
    for chunk in chunks(section.data):
        crc32.append(zlib.crc32(chunk))
        _write_all(fd, chunk)
        reached("chunk.written")
        offset += chunk.nbytes
        if offset % _SETTLE_BYTES < chunk.nbytes:
            _settle(fd, offset)
        if progress:
            progress(offset)
    return tuple(crc32)


def _settle(fd: int, offset: int) -> None:
    """Bring what is written to the disk, and out of memory, which training might need and which is slow to find."""
    os.fdatasync(fd)
    os.posix_fadvise(fd, 0, offset, os.POSIX_FADV_DONTNEED)


def _commit(draft: Path, manifest: Manifest) -> str:
    text = encode_manifest(manifest)
    digest = hashlib.sha256(text).hexdigest()
    _write_file(draft / MANIFEST, text)
    # Everything that the marker vouches for must be on the disk before the marker is.
    sync_directory(draft)
    reached("manifest.written")
    _write_file(draft / MARKER, f"{digest}\n".encode())
    sync_directory(draft)
    reached("marker.written")
    return digest


def _make(root: Path) -> None:
    """Make the directory; it is to be found after a power cut, so its parents are synced as well."""
    missing = [path for path in (root, *root.parents) if not path.is_dir()]
    if missing:
        root.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_directory(path.parent)


def _put_in_place(draft: Path, final: Path) -> None:
    """Afterwards `draft` is what was there before, and may go: not sooner than it cannot come back."""
    if not os.path.lexists(final):
        draft.rename(final)
    else:
        if not _exchange(draft, final):
            _rename_over(draft, final)
        reached("checkpoint.aside")
    sync_directory(final.parent)
    reached("checkpoint.placed")


def _exchange(one: Path, other: Path) -> bool:
    """Swap two directories in one moment, where the system can."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        failed = libc.renameat2(_AT_FDCWD, bytes(one), _AT_FDCWD, bytes(other), _RENAME_EXCHANGE)
    except AttributeError:  # a C library that does not know of it
        return False
    code = ctypes.get_errno()
    if failed and code not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(code, os.strerror(code), str(other))
    return not failed


def _rename_over(draft: Path, final: Path) -> None:
    # A directory cannot be renamed onto a full one. A crash between the first two renames loses this step.
    aside = draft_path(final.parent, step_of(final) or 0)
    final.rename(aside)
    try:
        draft.rename(final)
    except OSError:
        aside.rename(final)
        raise
    aside.rename(draft)


def _write_file(path: Path, content: bytes) -> None:
    fd = _create(path)
    try:
        _write_all(fd, memoryview(content))
        os.fsync(fd)
    finally:
        os.close(fd)


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _write_all(fd: int, view: memoryview) -> None:
    while view:
        view = view[os.write(fd, view) :]


def sync_directory(path: Path) -> None:
    """The names in it are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _failure(root: Path, step: int, error: OSError) -> str:
    try:
        free = f", {shutil.disk_usage(root).free / 1e6:.0f} MB free"
    except OSError:
        free = ""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = "free some space" if full else "see that its disk is sound and writable"
    return (
        f"the checkpoint of step {step} could not be written to {root} ({error.strerror}{free}); "
        f"{advice}, or choose another directory"
    )
