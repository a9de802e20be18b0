"""The disk says no while a checkpoint is written: a sentence says where and why, nothing is left, the next works."""

import errno
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checkpoint_cases import CALLS, names, on_every_call, version_of, write

from holdfast.errors import CheckpointError
from holdfast.ledger import checkpoints
from holdfast.ledger.checkpoints import shelf

pytestmark = pytest.mark.usefixtures("small_chunks")
CODES = [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS]


def failing(name: str, moment: int, code: int) -> tuple[Callable[..., Any], list[str]]:
    """Has the n-th call of this name fail, and tells whether there was one."""
    calls, failed = itertools.count(), []

    def strike(_: str, real: Callable[..., Any], arguments: Any, named: Any) -> Any:
        if next(calls) != moment:
            return real(*arguments, **named)
        failed.append(name)
        if name == "close":
            real(*arguments, **named)  # the descriptor is gone even then
        raise OSError(code, os.strerror(code))

    return strike, failed


@pytest.mark.parametrize("version", [1, 2], ids=["the same step", "the next step"])
@pytest.mark.parametrize("name", CALLS)
def test_an_error_at_any_call(quick_disk: Path, monkeypatch: pytest.MonkeyPatch, name: str, version: int) -> None:
    monkeypatch.setattr(shelf, "_lives", lambda _: False)
    for moment in itertools.count():
        root, code = quick_disk / str(moment), CODES[moment % len(CODES)]
        write(root, version - 1)
        strike, failed = failing(name, moment, code)
        with on_every_call([name], strike):
            told = complaint(root, version)
        if not failed:
            break
        if told:
            assert re.fullmatch(
                rf"the checkpoint of step {1 + version // 2} could not be written to {root} "
                rf"\({os.strerror(code)}, \d+ MB free\); [^;]*, or choose another directory",
                told,
            )
            assert ("free some space" in told) == (code in (errno.ENOSPC, errno.EDQUOT))
            assert name in IN_VAIN or drafts(root) == []
            assert version_of(root) in (version - 1, version)
        else:
            assert version_of(root) == version  # only the one before could not be removed
        checkpoints.sweep(root)
        assert drafts(root) == []
        write(root, version)
        assert version_of(root) == version
    assert moment >= LEAST.get(name, 0)


LEAST = {"open": 6, "write": 9, "fsync": 6, "fdatasync": 1, "close": 6, "mkdir": 1}
IN_VAIN = ("unlink", "rmdir")


def complaint(root: Path, version: int) -> str:
    try:
        write(root, version)
    except CheckpointError as error:
        return str(error)
    return ""


def drafts(root: Path) -> list[str]:
    return [name for name in names(root) if "tmp" in name]


def test_where_directories_cannot_be_exchanged_they_are_renamed(
    quick_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: Any) -> int:
        checkpoints.write.__globals__["ctypes"].set_errno(errno.EINVAL)
        return -1

    library = type("Library", (), {"renameat2": staticmethod(unknown)})
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: library)
    for missing in range(4):
        root = quick_disk / str(missing)
        write(root, 0)
        strike, failed = failing("rename", missing, errno.EIO)
        with on_every_call(["rename"], strike):
            if missing < 3:
                with pytest.raises(CheckpointError, match="Input/output error"):
                    write(root, 1)
            else:
                write(root, 1)
        assert bool(failed) == (missing < 3)
        assert version_of(root) == int(missing >= 2)


def test_an_error_while_the_old_are_removed_is_told(quick_disk: Path) -> None:
    write(quick_disk, 0)
    write(quick_disk, 2)
    strike, _ = failing("rename", 0, errno.EIO)
    sentence = rf"the old checkpoint {quick_disk}/step-00000001 cannot be removed \(Input/output error\)"
    with on_every_call(["rename"], strike), pytest.raises(CheckpointError, match=f"^{sentence}$"):
        checkpoints.retain(quick_disk, 1, 2)
    assert names(quick_disk) == ["step-00000001", "step-00000002"]


def test_a_directory_that_cannot_be_read_is_told(quick_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(quick_disk, 0)

    def refuse(_: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(CheckpointError, match=rf"the checkpoints in {quick_disk} cannot be .* \(Permission denied\)"):
        checkpoints.newest(quick_disk)


FULL_DISK = """
import subprocess, sys
from pathlib import Path
from checkpoint_cases import names, state
from holdfast.errors import CheckpointError
from holdfast.ledger import checkpoints

place = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], check=True)
root = place / "checkpoints"
before = checkpoints.write(root, 1, state(1), {})
outcomes = set()
for room in range(0, 7 * 4096, 2048):
    (place / "filler").write_bytes(bytes(room))
    try:
        with (place / "rest").open("wb", buffering=0) as rest:
            while rest.write(bytes(4096)):
                pass
    except OSError:
        pass
    (place / "filler").unlink()
    try:
        after = checkpoints.write(root, 2, state(2), {})
        assert checkpoints.newest(root) == (after, [])
        subprocess.run(["rm", "-r", after.path], check=True)
        outcomes.add("written")
    except CheckpointError as error:
        told = f"the checkpoint of step 2 could not be written to {root} (No space left on device, 0 MB free); "
        assert str(error) == told + "free some space, or choose another directory", error
        outcomes.add("full")
    assert names(root) == ["step-00000001"]
    assert checkpoints.newest(root) == (before, [])
    (place / "rest").unlink()
    again = checkpoints.write(root, 3, state(3), {})
    assert checkpoints.newest(root) == (again, [])
    subprocess.run(["rm", "-r", again.path], check=True)
assert outcomes == {"written", "full"}, outcomes
"""


def test_a_disk_that_is_full_indeed(tmp_path: Path) -> None:
    """A small one, in memory, that is seen by one process alone; with room for less and for more of a checkpoint."""
    enter = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*enter, "mount", "-t", "tmpfs", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("mounting in a namespace of its own is not permitted here")
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    command = [*enter, sys.executable, "-c", FULL_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr
