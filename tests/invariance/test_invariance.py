"""One job, one SHA-256: of parameters, buffers, optimizer state and history, whatever the crew was and whoever died."""

import os
import random
from pathlib import Path
from typing import Any

import pytest
from forked import ForkingEngine
from grammar import random_job, random_story

from holdfast import Job
from holdfast.ledger import Ledger
from holdfast.run.detached import Silent
from holdfast.run.launch import launch, place_of
from holdfast.run.session import Session, Start

CASES, SOAK_CASES, PER_TEST = 160, 4000, 20


@pytest.fixture(autouse=True)
def short_cuts_for_small_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models are small, and what is done for large ones is what is worth a test; forked workers inherit it."""
    monkeypatch.setattr("holdfast.step.routes.WORTH_WHILE", 1)


Story = list[tuple[int, str]]
"""What is changed while the job trains: from which step on, and the assignment."""


def outcome(
    home: Path, job: Job, workers: int, deaths: dict[int, int], story: Story | None = None
) -> tuple[dict[str, Any], int]:
    """The result of the job on so many workers, some of which die; and how many were started."""
    engine = ForkingEngine(deaths)
    with Ledger.open(home) as ledger:
        run = launch(ledger, job.with_sets([f"crew.workers={workers}"]))
        changes = place_of(ledger, run).changes
        for step, text in story or ():
            changes.holding(step, changes.add(job, [text]))
        result = Session(ledger, job.with_sets([f"crew.workers={workers}"]), Start(run), Silent(), engine).execute()
    assert result["status"] == "finished", (result["error"], logs(home, run))
    assert not [pid for pid in engine.started if os.path.exists(f"/proc/{pid}")]
    return result, len(engine.started)


def logs(home: Path, run: str) -> str:
    return "\n".join(path.read_text() for path in sorted((home / "runs" / run / "logs").glob("*.log")))


def agree(home: Path, seed: int) -> int:
    """Check one random case; how many of its workers died."""
    rng = random.Random(seed)
    job = random_job(rng)
    story = random_story(rng)
    calm, _ = outcome(home, job, 1, {}, story)
    workers = rng.randint(1, job.train.replicas)
    deaths = {worker: rng.randint(1, 60) for worker in range(10) if rng.random() < 0.6}
    stormy, started = outcome(home, job, workers, deaths, story)
    for what in ("state_sha256", "model_sha256", "metrics", "samples", "loss", "changes"):
        assert stormy[what] == calm[what], f"seed {seed}: {what} differs on {workers} workers, deaths {deaths}, {story}"
    return started - workers


@pytest.mark.parametrize("block", range(CASES // PER_TEST))
def test_random_jobs_give_one_state_whatever_the_crew_and_the_deaths(block: int, tmp_path: Path) -> None:
    deaths = sum(agree(tmp_path, seed) for seed in range(block * PER_TEST, (block + 1) * PER_TEST))
    assert deaths > 0, "a storm in which nobody dies proves nothing"


@pytest.mark.soak
@pytest.mark.timeout(36_000)
def test_thousands_of_random_jobs(tmp_path: Path) -> None:
    for seed in range(10_000, 10_000 + SOAK_CASES):
        agree(tmp_path, seed)


def test_a_changed_seed_changes_the_state(tmp_path: Path) -> None:
    """Without this the suite might compare constants."""
    job = random_job(random.Random(3))
    first, _ = outcome(tmp_path, job, 1, {})
    second, _ = outcome(tmp_path, job.with_sets(["train.seed=424242"]), 1, {})
    assert first["state_sha256"] != second["state_sha256"]


def test_a_change_at_another_step_changes_the_state(tmp_path: Path) -> None:
    job = random_job(random.Random(3))
    states = {outcome(tmp_path, job, 1, {}, story)[0]["state_sha256"] for story in _OTHERS}
    assert len(states) == len(_OTHERS)


_OTHERS: list[Story] = [[], [(1, "optimizer.lr=0.5")], [(2, "optimizer.lr=0.5")]]
