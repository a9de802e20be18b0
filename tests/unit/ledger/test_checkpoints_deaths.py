"""A process is killed at any call and any byte of writing a checkpoint: the one before is there, or the new one."""

import contextlib
import itertools
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checkpoint_cases import CALLS, names, on_every_call, version_of, write

from holdfast.errors import CheckpointError
from holdfast.ledger import checkpoints

pytestmark = pytest.mark.usefixtures("small_chunks")


def in_a_child(work: Callable[[], object]) -> int:
    """Done by a process that may be killed by it: 0, or the number of the signal."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            work()
        except BaseException:
            os._exit(99)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code != 99
    return -code


def swept_version_of(root: Path) -> int:
    """Of the newest checkpoint; nothing is half there, and nothing stays."""
    version, found = version_of(root), checkpoints.newest(root)
    checkpoints.sweep(root)
    assert [name for name in names(root) if "tmp" in name] == []
    assert checkpoints.newest(root) == found
    return version


def killed_at(root: Path, version: int, moment: int, how: str) -> bool:
    """Write it in a process that dies at its n-th call: before, within or after it. Whether it came so far."""
    calls = itertools.count()

    def strike(name: str, real: Callable[..., Any], arguments: Any, named: Any) -> object:
        if next(calls) != moment:
            return real(*arguments, **named)
        if how == "within" and name == "write":
            fd, view = arguments
            real(fd, view[: len(view) // 2])
        elif how == "after":
            with contextlib.suppress(OSError):
                real(*arguments, **named)
        return os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        with on_every_call(CALLS, strike):
            write(root, version)

    return in_a_child(work) == signal.SIGKILL


@pytest.mark.parametrize("how", ["before", "within", "after"])
@pytest.mark.parametrize("version", [1, 2], ids=["the same step", "the next step"])
def test_death_at_any_call(quick_disk: Path, version: int, how: str) -> None:
    found = []
    for moment in itertools.count():
        root = quick_disk / str(moment)
        write(root, version - 1)
        died = killed_at(root, version, moment, how)
        found.append(swept_version_of(root))
        write(root, version)
        assert swept_version_of(root) == version
        if not died:
            break
    assert len(found) > 25
    assert found == sorted(found)
    assert (found[0], found[-1]) == (version - 1, version)


def limited(root: Path, size: int, action: Any) -> None:
    """Write while no file may have more bytes: the system itself kills who writes one more, or says no."""
    signal.signal(signal.SIGXFSZ, action)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    write(root, 2)


def sizes(root: Path) -> list[int]:
    """All lengths that a file of a checkpoint goes through, and some beyond."""
    write(root, 0)
    largest = max(path.stat().st_size for path in (root / "step-00000001").iterdir())
    return [*random.Random(5).sample(range(largest), 40), 0, 1, 64, 65, largest - 20, largest + 100]


def test_death_at_any_byte(quick_disk: Path) -> None:
    outcomes = set()
    for number, size in enumerate(sizes(quick_disk / "first")):
        root = quick_disk / str(number)
        write(root, 0)
        died = in_a_child(lambda root=root, size=size: limited(root, size, signal.SIG_DFL)) == signal.SIGXFSZ
        assert swept_version_of(root) == (0 if died else 2)
        write(root, 2)
        assert swept_version_of(root) == 2
        outcomes.add(died)
    assert outcomes == {True, False}


def test_no_at_any_byte(quick_disk: Path) -> None:
    """As a full disk says it: the rest of a write is refused. It is an error, and no trace is left."""

    def refused(size: int) -> None:
        with pytest.raises(CheckpointError, match="File too large"):
            limited(quick_disk, size, signal.SIG_IGN)

    for size in [size for size in sizes(quick_disk) if size < 500]:
        assert in_a_child(lambda size=size: refused(size)) == 0
        assert names(quick_disk) == ["step-00000001"]
        assert swept_version_of(quick_disk) == 0


@pytest.fixture(params=[15, pytest.param(500, marks=pytest.mark.soak)])
def deaths(request: pytest.FixtureRequest) -> int:
    return request.param


def test_death_out_of_the_blue(quick_disk: Path, deaths: int) -> None:
    """Killed by another process, again and again, while it writes one checkpoint after the other and keeps two."""
    chance = random.Random(deaths)

    def write_on(start: int) -> None:
        for version in itertools.count(start):
            write(quick_disk, version)
            checkpoints.retain(quick_disk, 2, 1 + version // 2)

    write(quick_disk, 0)
    version = 0
    for _ in range(deaths):
        child = os.fork()
        if child == 0:
            try:
                write_on(version + 1)
            finally:
                os._exit(99)
        time.sleep(chance.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        before, version = version, swept_version_of(quick_disk)
        assert version >= before
    assert version > 0
    checkpoints.retain(quick_disk, 2, 1 + version // 2)
    assert len(names(quick_disk)) <= 2
