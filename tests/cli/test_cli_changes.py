"""`set` changes a run while it trains, `replay` trains it again from its history; whatever dies, to the same bits."""

import json
import os
import signal
from typing import Any

import pytest
from terminal import Terminal, until

from holdfast.ledger import Ledger

JOB = """\
name = "long"
model = "mlp"
data = "random"
[train]
replicas = 4
batch = 16
steps = 8000
[optimizer]
kind = "sgd"
momentum = 0.9
[checkpoint]
every_steps = 1000
every_minutes = "none"
"""


@pytest.fixture
def job(terminal: Terminal) -> str:
    return terminal.write("job.toml", JOB)


def changed(terminal: Terminal, *assignments: str) -> dict[str, Any]:
    done = terminal.finished(terminal.start("set", "last", *assignments, "--json"))
    assert done.code == 0, done.err
    return done.json


def result(terminal: Terminal, run: str) -> dict[str, Any]:
    with Ledger.open(terminal.home) as ledger:
        return ledger.run(run).result or {}


def test_a_run_that_was_changed_is_replayed_to_the_same_bits(terminal: Terminal, job: str) -> None:
    process = terminal.start("run", job, "--workers", "2")
    until(terminal.is_stepping)
    first = changed(terminal, "optimizer.lr=0.05")
    os.kill(terminal.workers()[0], signal.SIGKILL)
    process.kill()
    terminal.finished(process)
    second = changed(terminal, "optimizer.momentum=0.5", "schedule.kind=linear")
    run = first["run"]
    assert (first["change"], second["change"]) == (1, 2)
    assert 0 < first["from_step"] < second["from_step"]
    until(lambda: terminal.status() == "finished")
    until(lambda: terminal.workers() == [])
    told = [{"sets": told["sets"], "from_step": told["from_step"]} for told in (first, second)]
    assert result(terminal, run)["changes"] == told
    noted = json.loads(terminal.type("events", run, "--json").out)["events"]
    assert [event["step"] for event in noted if event["kind"] == "changed"] == [x["from_step"] for x in told]

    replayed = terminal.type("replay", run, "--workers", "1", "--json")
    assert replayed.code == 0, replayed.err
    assert replayed.json["same"]
    assert replayed.json["replayed"]["changes"] == told
    assert replayed.json["replayed"]["state_sha256"] == result(terminal, run)["state_sha256"]

    # Without its history it is another model, so the comparison can fail.
    plain = terminal.type("run", job, "--json").json
    assert plain["state_sha256"] != replayed.json["replayed"]["state_sha256"]


def test_after_a_power_cut_changes_hold_from_the_same_steps(terminal: Terminal, job: str) -> None:
    process = terminal.start("run", job, "--workers", "2")
    until(terminal.is_stepping)
    made = changed(terminal, "optimizer.lr=0.05")
    for pid in [process.pid, *terminal.workers()]:
        os.kill(pid, signal.SIGKILL)
    terminal.finished(process)
    until(lambda: terminal.workers() == [])
    resumed = terminal.type("resume", made["run"], "--json")
    assert resumed.json["changes"] == [{"sets": made["sets"], "from_step": made["from_step"]}]
    assert terminal.type("replay", made["run"], "--json").json["same"]


def test_a_run_that_was_stopped_is_replayed_as_far_as_it_came(terminal: Terminal, job: str) -> None:
    process = terminal.start("run", job)
    until(terminal.is_stepping)
    changed(terminal, "optimizer.lr=0.05")
    process.send_signal(signal.SIGINT)
    terminal.finished(process)
    with Ledger.open(terminal.home) as ledger:
        run = ledger.run("last")
    assert run.status == "stopped"
    again = terminal.type("replay", run.id, "--workers", "2")
    assert again.code == 0, again.err
    assert f"replays {run.id} to step {run.steps_done}: the same model" in again.out


def test_what_cannot_be_changed_or_replayed_gets_a_sentence(terminal: Terminal, job: str) -> None:
    process = terminal.start("run", job, "--set=train.steps=50000000")
    until(terminal.is_stepping)
    for words, code, sentence in (
        (("set", "last", "train.batch=32"), 2, "`train.batch` cannot be changed while a run trains"),
        (("set", "last", "optimizer.lr=fast"), 2, "optimizer.lr"),
        (("set", "last", "optimizer.lr"), 2, "is not an assignment"),
        (("replay", "last"), 6, "is still being executed"),
    ):
        refused = terminal.finished(terminal.start(*words))
        assert (refused.code, sentence in refused.sentence) == (code, True), refused
    process.send_signal(signal.SIGINT)
    terminal.finished(process)
    late = terminal.type("set", "last", "optimizer.lr=0.5")
    assert (late.code, "is not being executed (its status is stopped)" in late.sentence) == (6, True)
