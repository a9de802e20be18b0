"""When the clerk gets the shadow ready, and when it gives the shadow's memory back."""

import errno
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from board import Board

from holdfast.errors import CheckpointError
from holdfast.job import CheckpointSpec
from holdfast.ledger.checkpoints import CheckpointInfo
from holdfast.planes.arena import PAGE, create
from holdfast.run.clerk import Clerk
from holdfast.run.gauges import Gauges
from holdfast.run.place import RunPlace
from holdfast.step.places import Header

SHADOW_BYTES = 64 * PAGE


class Desk:
    """A clerk before the gauges of a run whose steps take a second each."""

    def __init__(self, root: Path, descriptor: int, spec: CheckpointSpec) -> None:
        self.saved: list[int] = []
        self.errors: list[str] = []
        self.board = Board(descriptor)
        self.gauges = Gauges(
            self.board.gauges.arena,
            {**self.board.gauges.layout, "shadow_bytes": SHADOW_BYTES, "shadow_distance": 0, "sections": []},
        )
        self.clerk = Clerk(RunPlace(root), spec, {}, self._note, lambda error: self.errors.append(str(error)))
        self._descriptor = descriptor
        self.board.header[Header.READY] = 1

    def after(self, steps: int) -> None:
        """So many steps are done, and the clerk looks, and finishes what it began."""
        for step in range(steps):
            self.board.row(step, 1.0, 1.0, float(step))
        self.board.header[Header.COMMITTED] = steps
        self.clerk.look(self.gauges, float(steps))
        if self.clerk._thread is not None:
            self.clerk._thread.join()

    def snapshot(self, step: int) -> None:
        """One is taken, and the clerk has it."""
        self.fill_shadow(step)
        self.after(step)
        if self.gauges.shadow_step is not None:
            self.after(step)  # it was busy getting ready

    def fill_shadow(self, step: int) -> None:
        self.board.header[Header.SHADOW_FULL] = step + 1

    def pages(self) -> int:
        """How many the shadow has."""
        return os.fstat(self._descriptor).st_blocks * 512 // PAGE - 3

    def _note(self, info: CheckpointInfo) -> None:
        self.saved.append(info.step)


@pytest.fixture
def descriptor() -> Iterator[int]:
    made = create("test")
    os.ftruncate(made, SHADOW_BYTES + 16 * PAGE)
    yield made
    os.close(made)


def desk(tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch, soon_s: float, **spec: Any) -> Desk:
    monkeypatch.setattr("holdfast.run.clerk._SOON_S", soon_s)
    return Desk(tmp_path, descriptor, CheckpointSpec(**{"every_minutes": None, **spec}))


def test_the_shadow_is_made_ready_just_before_it_is_due(
    tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = desk(tmp_path, descriptor, monkeypatch, 0.0, every_steps=50)
    made.after(40)
    assert made.pages() < 3
    made.after(49)
    assert made.pages() >= 64


@pytest.mark.parametrize(("soon_s", "kept"), [(1.0, False), (1000.0, True)])
def test_its_memory_is_given_back_unless_it_is_needed_soon(
    tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch, soon_s: float, kept: bool
) -> None:
    made = desk(tmp_path, descriptor, monkeypatch, soon_s, every_steps=50)
    made.after(49)
    made.fill_shadow(50)
    made.after(52)
    assert (made.saved, made.errors) == ([50], [])
    assert made.gauges.shadow_step is None
    assert (made.pages() >= 64) == kept


def test_without_checkpoints_nothing_is_made_ready(
    tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = desk(tmp_path, descriptor, monkeypatch, 0.0)
    made.after(99)
    assert made.clerk._thread is None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_a_checkpoint_that_cannot_be_written_is_told_and_the_next_one_works(
    tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch, code: int, call: str
) -> None:
    made = desk(tmp_path, descriptor, monkeypatch, 0.0, every_steps=10)
    made.snapshot(10)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse(code))
        made.snapshot(20)
    assert made.saved == [10]
    assert re.fullmatch(rf"the checkpoint of step 20 could not .*\({os.strerror(code)}.*", *made.errors)
    made.snapshot(30)
    assert made.saved == [10, 30]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step-00000010", "step-00000030"]


def test_what_is_saved_is_saved_even_if_the_old_cannot_be_removed(
    tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = desk(tmp_path, descriptor, monkeypatch, 0.0, every_steps=10, keep=1)
    made.snapshot(10)
    with monkeypatch.context() as patch:
        patch.setattr("holdfast.ledger.checkpoints.shelf._remove", refuse_removal)
        made.snapshot(20)
        made.after(25)
        made.clerk.save_committed(made.gauges)
    assert made.saved == [10, 20, 25]
    assert made.errors == ["the old checkpoint stays"] * 2
    made.snapshot(30)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000030"]


def refuse(code: int) -> Callable[..., None]:
    def call(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return call


def refuse_removal(path: Path) -> None:
    raise CheckpointError("the old checkpoint stays")
