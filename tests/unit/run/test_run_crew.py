"""What the crew's driver does by itself; with real processes it is tried out elsewhere."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from board import LAYOUT, Board

from holdfast.engines.base import Activity
from holdfast.errors import ResourceError
from holdfast.job import Job
from holdfast.planes.arena import create
from holdfast.run.captain import Captain, Terms
from holdfast.run.crew import Crew, Ears
from holdfast.run.events import End
from holdfast.run.place import RunPlace
from holdfast.step.places import Header


class NoProcess:
    """Never ends, and is gone when it is killed."""

    pid = 1
    born = "long ago"

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def fileno(self) -> int:
        return self._read

    def kill(self) -> None:
        os.close(self._write)

    def cause(self) -> str:
        return "it was never there"

    def activity(self) -> Activity:
        return Activity(0.0, stopped=False)

    def close(self) -> None:
        os.close(self._read)


class NoEngine:
    def start(self, arguments: Sequence[str], log: Path, threads: int, inherited: Sequence[int]) -> NoProcess:
        return NoProcess()

    def adopt(self, pid: int, born_at: str) -> None:
        return None


@pytest.fixture
def crews(tmp_path: Path) -> Iterator[Callable[..., Crew]]:
    place = RunPlace(tmp_path / "run")
    place.prepare(Job(model="cnn", data="digits", steps=1))
    descriptor = create("test")
    ears = Ears(lambda *_: None, lambda *_: None, lambda _: None)
    made: list[Crew] = []

    def make(workers: int, at_least: int) -> Crew:
        crew = Crew(place, Captain(Terms(workers, at_least, 0, workers + 2, 60.0)), NoEngine(), descriptor, ears)
        crew.begin(1, "")
        made.append(crew)
        return crew

    yield make
    for crew in made:
        crew.dismiss(at_once=True)
    os.close(descriptor)


@pytest.fixture
def crew(crews: Callable[..., Crew]) -> Crew:
    return crews(workers=1, at_least=1)


def test_before_anything_was_begun_an_order_to_stop_ends_the_run(crew: Crew) -> None:
    crew.order_stop()
    assert crew.ending == End("stopped")


def built(crew: Crew, monkeypatch: pytest.MonkeyPatch, available: int) -> None:
    """The first worker says that it has its model, on a machine with so much memory."""
    monkeypatch.setattr("holdfast.run.crew.available_memory", lambda: available)
    crew._place.write_layout({**LAYOUT, "resident_bytes": 100, "slot_bytes": 10})
    crew._hear(0, {"kind": "built", "worker": 0, "digest": "same"})


def test_where_there_is_no_memory_for_all_there_is_for_as_many_as_fit(
    crews: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = crews(workers=4, at_least=2)
    built(crew, monkeypatch, available=135)
    assert crew.ending is None
    assert crew._captain.target == 3


def test_where_there_is_not_even_memory_for_the_fewest_it_is_said(
    crews: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = crews(workers=4, at_least=2)
    with pytest.raises(ResourceError):
        built(crew, monkeypatch, available=119)
    assert crew.ending is not None
    assert crew.ending.status == "failed"


def test_during_a_change_of_the_crew_an_order_to_stop_waits_for_a_whole_step(crew: Crew, board: Board) -> None:
    """No view is committed, and a step may be half applied: what would be saved now is no step at all."""
    crew.gauges = board.gauges
    board.header[Header.READY] = 1
    crew.order_stop()
    assert crew.ending is None
    assert board.header[Header.WISH_STOP] == 1
