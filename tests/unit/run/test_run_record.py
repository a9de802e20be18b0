"""What is to be noted waits while the ledger cannot be written to, and nobody waits for it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from board import Board

from holdfast.errors import LedgerError
from holdfast.ledger import Ledger
from holdfast.ledger.curves import CurveWriter
from holdfast.run.events import Note
from holdfast.run.record import Record
from holdfast.step.places import Header


class Weather:
    """Stands before a ledger, and lets nothing through while it is bad."""

    def __init__(self, ledger: Ledger) -> None:
        self.bad = False
        self.refused = 0
        self._ledger = ledger

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._ledger, name)

        def tried(*arguments: Any, **named: Any) -> Any:
            if self.bad:
                self.refused += 1
                raise LedgerError("the ledger is on a disk that is gone")
            return real(*arguments, **named)

        return tried


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def curves(tmp_path: Path) -> Iterator[CurveWriter]:
    with closing(CurveWriter(tmp_path / "curves")) as writer:
        yield writer


def record(weather: Weather, run: str, curves: CurveWriter) -> Record:
    return Record(weather, run, curves)  # type: ignore[arg-type]


def begun(ledger: Ledger) -> str:
    return ledger.create_run("job", job={}, fingerprint="f", environment={}, workers=1, steps_total=9).id


def test_what_could_not_be_noted_is_noted_later_in_order(
    ledger: Ledger, curves: CurveWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.run.record._PAUSE_S", 0.01)
    weather, run = Weather(ledger), begun(ledger)
    made = record(weather, run, curves)
    weather.bad = True
    for number in range(5):
        made.note(Note("view", f"view {number}"), step=number)
    made.update(status="running")
    while weather.refused < 3:
        pass
    assert ledger.events(run) == []
    weather.bad = False
    made.close()
    assert [event.text for event in ledger.events(run)] == [f"view {number}" for number in range(5)]
    assert ledger.run(run).status == "running"


def test_a_ledger_that_stays_away_does_not_keep_the_run_from_its_end(
    ledger: Ledger, curves: CurveWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.run.record._PAUSE_S", 0.01)
    weather = Weather(ledger)
    made = record(weather, begun(ledger), curves)
    weather.bad = True
    made.note(Note("view", "view 1"), step=1)
    made.close()
    made.close()
    assert weather.refused >= 1


def test_a_curve_has_no_gap_where_everybody_died(ledger: Ledger, curves: CurveWriter, board: Board) -> None:
    """A checkpoint was saved of a later step than the last that had been noted."""
    run = begun(ledger)
    ledger.add_metrics(run, [(step, "train.loss", float(step)) for step in range(3)])
    for step in range(8):
        board.row(step, float(step), 4.0, 1.0)
    board.header[Header.READY], board.header[Header.COMMITTED] = 1 + 6, 8
    made = Record(ledger, run, curves)
    made.points(board.gauges, now=100.0)
    made.close()
    assert [(point.step, point.value) for point in ledger.metrics(run, "train.loss")] == [(s, s) for s in range(8)]
