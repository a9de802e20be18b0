"""A storm over real processes, as a user has it blow."""

import pytest
from terminal import Terminal, until

from holdfast.ledger import Ledger
from holdfast.run.chaos import Storm

JOB = """\
name = "ship"
model = "mlp"
data = "random"
[train]
replicas = 4
batch = 16
steps = {steps}
[crew]
patience_s = 20.0
[evaluate]
metrics = ["accuracy", "log_loss"]
"""


def test_a_storm_changes_nothing(terminal: Terminal) -> None:
    job = terminal.write("job.toml", JOB.format(steps=3000))
    calm = terminal.finished(
        terminal.start("chaos", job, "--seed", "7", "--minutes", "0.25", "--every", "1.0", "--workers", "3", "--json")
    )
    assert calm.code == 0, calm.err
    assert calm.json["same"] is True
    assert len(calm.json["blows"]) >= 3
    assert 0 < calm.json["mean_workers"] <= 4
    assert calm.json["calm"]["state_sha256"] == calm.json["stormy"]["state_sha256"]
    until(lambda: terminal.workers() == [])


PAUSE_FIRST = 142432
"""A storm whose first blow is a pause, at once, and whose second one would come seconds later."""


def test_a_pause_ends_with_the_storm(terminal: Terminal) -> None:
    job = terminal.write("job.toml", JOB.format(steps=2000))
    run = terminal.finished(terminal.start("run", job, "--detach", "--json")).json["run"]
    until(terminal.is_stepping)
    with Ledger.open(terminal.home) as ledger:
        blows = list(Storm(ledger, run, PAUSE_FIRST, every_s=1.0, replicas=4).blows(0.15))
    assert [blow.kind for blow in blows] == ["pause"]
    until(lambda: terminal.status() == "finished")
    until(lambda: terminal.workers() == [])


def test_a_job_that_fails_in_calm_is_told_from_one_that_the_storm_breaks(terminal: Terminal) -> None:
    job = terminal.write("job.toml", JOB.format(steps=20))
    failed = terminal.type("chaos", job, "--set", "optimizer.lr=1e30")
    assert failed.code == 6
    assert "the job does not come to its end even in calm: the loss is" in failed.sentence


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10))
def test_long_storms_change_nothing(terminal: Terminal, seed: int) -> None:
    job = terminal.write("job.toml", JOB.format(steps=60_000))
    words = ("--seed", str(seed), "--minutes", "2", "--workers", "4", "--json")
    process = terminal.start("chaos", job, *words)
    out, err = process.communicate(timeout=1800)
    assert process.returncode == 0, err
    assert '"same": true' in out
