"""Cleaning up, as a user types it: after a run that was killed with all its processes."""

import os
import signal

import pytest
from terminal import Terminal, until

from holdfast.ledger import Ledger

JOB = """\
name = "long"
model = "mlp"
data = "random"
[train]
replicas = 2
batch = 8
steps = 50000000
"""
DRAFT_BYTES = 3 << 20


def test_there_may_be_nothing_to_do(terminal: Terminal) -> None:
    assert terminal.type("clean").out == "nothing to remove\n"
    assert terminal.type("clean", "--json").json == {"dry_run": False, "leftovers": [], "bytes_freed": 0}


@pytest.fixture
def half_written(terminal: Terminal) -> str:
    """The draft of a checkpoint, of a run whose process is long gone."""
    with Ledger.open(terminal.home, clock=lambda: 1_750_000_000.0) as ledger:
        run = ledger.create_run("digits", job={}, fingerprint="f", environment={}, workers=1, steps_total=9)
        ledger.update_run(run.id, status="failed")
    draft = terminal.home / "runs" / run.id / "checkpoints" / "step-00000010.tmp-123-ab12"
    draft.mkdir(parents=True)
    (draft / "state.safetensors").write_bytes(bytes(DRAFT_BYTES))
    return str(draft)


def test_a_dry_run_only_says_what_would_go(terminal: Terminal, half_written: str) -> None:
    run = half_written.split("/")[-3]
    line = f"draft {half_written} of run {run} (3.0 MiB): process 123 did not finish it"
    assert terminal.type("clean", "--dry-run").out == f"would remove {line}\n1 to remove, 3.0 MiB to free\n"
    found = terminal.type("clean", "--dry-run", "--json").json
    assert found == {
        "dry_run": True,
        "leftovers": [
            {
                "kind": "draft",
                "run": run,
                "what": half_written,
                "why": "process 123 did not finish it",
                "bytes": DRAFT_BYTES,
                "removed": False,
            }
        ],
        "bytes_freed": 0,
    }
    assert terminal.type("clean").out == f"removed {line}\n1 of 1 removed, 3.0 MiB freed\n"
    assert not os.path.exists(half_written)


def test_json_says_what_is_gone(terminal: Terminal, half_written: str) -> None:
    found = terminal.type("clean", "--json").json
    assert found["bytes_freed"] == DRAFT_BYTES
    assert [one["removed"] for one in found["leftovers"]] == [True]


def test_a_living_run_is_left_alone_and_a_killed_one_is_cleaned_up_after(terminal: Terminal) -> None:
    process = terminal.start("run", terminal.write("job.toml", JOB))
    until(terminal.is_stepping)
    workers = terminal.workers()
    assert terminal.finished(terminal.start("clean")).out == "nothing to remove\n"
    assert terminal.workers() == workers
    assert terminal.status() == "running"

    # All of them before any notices: what is left of a crew would find itself another captain.
    for pid in (process.pid, *workers):
        os.kill(pid, signal.SIGKILL)
    terminal.finished(process)
    until(lambda: terminal.workers() == [])
    found = terminal.type("clean", "--json").json
    assert [one["kind"] for one in found["leftovers"]] == ["status", "lease", "socket"]
    assert all(one["removed"] for one in found["leftovers"])
    assert terminal.status() == "lost"
    assert terminal.type("clean").out == "nothing to remove\n"
