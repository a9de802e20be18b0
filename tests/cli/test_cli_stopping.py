"""Stopping and going on, from the keyboard and from another terminal; what comes out is as if nothing had happened."""

import signal

import pytest
from terminal import Terminal, until

STEPS = 2000
JOB = f"""\
name = "long"
model = "mlp"
data = "random"
[train]
replicas = 2
batch = 8
steps = {STEPS}
"""
ENDLESS = "--set=train.steps=50000000"


@pytest.fixture
def job(terminal: Terminal) -> str:
    return terminal.write("job.toml", JOB)


def test_ctrl_c_and_resume_give_the_bits_of_an_undisturbed_run(terminal: Terminal, job: str) -> None:
    process = terminal.start("run", job, "--workers", "2", "--json")
    until(terminal.is_stepping)
    process.send_signal(signal.SIGINT)
    stopped = terminal.finished(process)
    assert (stopped.code, stopped.json["status"]) == (130, "stopped")
    step = stopped.json["steps"]
    assert 0 < step < STEPS
    run = stopped.json["run"]
    assert stopped.sentence == (
        f"run {run} was stopped at step {step}; `holdfast resume {run}` goes on from the checkpoint of step {step}"
    )
    assert terminal.workers() == []

    resumed = terminal.type("resume", run, "--workers", "1", "--json")
    undisturbed = terminal.type("run", job, "--json")
    assert (resumed.code, resumed.json["steps"], resumed.json["workers"]) == (0, STEPS, 1)
    assert resumed.json["state_sha256"] == undisturbed.json["state_sha256"]
    assert f"resumed from the checkpoint of step {step}" in resumed.err


def test_ctrl_c_twice_stops_at_once(terminal: Terminal, job: str) -> None:
    process = terminal.start("run", job, ENDLESS)
    until(terminal.is_stepping)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    stopped = terminal.finished(process)
    assert stopped.code == 130
    assert "was stopped" in stopped.sentence
    assert "`holdfast resume" in stopped.sentence
    assert terminal.workers() == []


def test_a_detached_run_is_stopped_from_another_terminal(terminal: Terminal, job: str) -> None:
    launched = terminal.finished(terminal.start("run", job, ENDLESS, "--detach", "--json"))
    assert launched.code == 0
    run = launched.json["run"]
    follower = terminal.start("events", run, "-f")
    until(terminal.is_stepping)
    assert terminal.finished(terminal.start("ps")).out.split()[5:7] == [run, "running"]
    twice = terminal.finished(terminal.start("resume", run))
    assert (twice.code, "is being executed already" in twice.sentence) == (6, True)
    assert terminal.finished(terminal.start("stop", run)).code == 0
    until(lambda: terminal.status(run) == "stopped")
    assert "view 1: workers 0" in terminal.finished(follower).out
    until(lambda: terminal.workers() == [])
