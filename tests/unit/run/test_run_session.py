"""One execution of a run: what it must not do when it comes too late."""

import os
from pathlib import Path

import pytest

from holdfast.job import Job
from holdfast.ledger import Ledger
from holdfast.planes.arena import create
from holdfast.run.detached import lead_on
from holdfast.run.launch import launch, place_of


def test_whoever_comes_to_lead_a_run_that_is_over_leaves_it_alone(tmp_path: Path) -> None:
    """Each worker may have called somebody, and the first who came has led it to its end."""
    job = Job.from_dict({"name": "over", "model": "mlp", "data": "random", "train": {"steps": 3}}, tmp_path)
    with Ledger.open(tmp_path / "home") as ledger:
        run = launch(ledger, job)
        ledger.update_run(run, status="finished", result={"steps": 3})
        arena = create(run)
        with pytest.raises(SystemExit, match=f"run {run} is over, so nobody has to lead it on"):
            lead_on(ledger, run, arena)
        assert (ledger.run(run).status, ledger.run(run).result) == ("finished", {"steps": 3})
        lease = ledger.lease(f"run:{run}")
        assert lease is not None
        assert lease.holder == ""
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(arena)


def test_a_run_leaves_no_file_that_is_half_written(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "home") as ledger:
        place = place_of(ledger, "run")
    place.metrics.mkdir(parents=True)
    for name in ("layout.json.draft-1", "metrics/00000003.json.draft-1", "standing-00000001.json", "job.json"):
        (place.root / name).write_text("{}")
    place.forget_standings()
    assert [path.name for path in place.root.rglob("*") if path.is_file()] == ["job.json"]
