"""When the clerk gets the shadow ready, and when it gives the shadow's memory back."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from board import Board

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
        self.board = Board(descriptor)
        self.gauges = Gauges(
            self.board.gauges.arena,
            {**self.board.gauges.layout, "shadow_bytes": SHADOW_BYTES, "shadow_distance": 0, "sections": []},
        )
        self.clerk = Clerk(RunPlace(root), spec, {}, self._note, lambda error: pytest.fail(str(error)))
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
    assert made.saved == [50]
    assert made.gauges.shadow_step is None
    assert (made.pages() >= 64) == kept


def test_without_checkpoints_nothing_is_made_ready(
    tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = desk(tmp_path, descriptor, monkeypatch, 0.0)
    made.after(99)
    assert made.clerk._thread is None
