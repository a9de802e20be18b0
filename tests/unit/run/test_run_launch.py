"""Whether a run is alive, as another process sees it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.engines.local import born
from holdfast.ledger import Ledger
from holdfast.run.launch import is_alive, place_of, status_of
from holdfast.run.lease import here


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "home") as opened:
        yield opened


@pytest.mark.parametrize(("where", "pid_is", "alive"), [("", "ours", True), ("x", "ours", False), ("", "gone", False)])
def test_a_crew_without_a_captain_is_alive_if_it_is_seen_to_be(
    ledger: Ledger, where: str, pid_is: str, alive: bool
) -> None:
    """A process with the pid and the birth of a worker of another place, or of the boot before, is not that worker."""
    run = ledger.create_run("digits", job={}, fingerprint="f", environment={}, workers=1, steps_total=9).id
    ledger.update_run(run, status="running")
    place = place_of(ledger, run)
    place.root.mkdir(parents=True)
    birth = born(os.getpid()) if pid_is == "ours" else "12345"
    place.write_standing(1, {"processes": {"0": [os.getpid(), birth]}, "where": where + here()})
    assert is_alive(ledger, run) == alive
    assert status_of(ledger, run) == ("running" if alive else "lost")
