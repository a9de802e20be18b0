"""The experiment of the demo: one job on two crews, the second of which loses a worker. It prints nothing."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.cli.demo.witness import Witness
from holdfast.data import access_log
from holdfast.data.split import by_hash, uids
from holdfast.errors import DataError, RunError, Stopped
from holdfast.job import Job, load_job
from holdfast.ledger import Ledger
from holdfast.run import launch

CREW = 4
VICTIM = 2
_SEED = 1
_TEST = 0.2
_LOG = "access_log.tsv"
_JOB = """\
# The job of `holdfast demo`: will this page, shown after this query, be clicked?
# Run it with any number of workers, up to 8, and compare the SHA-256 of the model.
name = "demo"
model = "logistic_bag"

[data]
use = "access_log"
args = {{ path = "{log}", test = {test} }}

[train]
replicas = 8
batch = 1024
epochs = {epochs}

[optimizer]
kind = "adamw"
lr = 0.005
weight_decay = 0.0

[schedule]
kind = "cosine"
warmup_steps = 20

[evaluate]
metrics = ["auc", "accuracy", "log_loss"]
"""


@dataclass(frozen=True)
class Size:
    rows: int = 200_000
    epochs: int = 26

    @classmethod
    def of_this_machine(cls) -> "Size":
        """Long enough that who replaces the dead has something left to do: more cores make steps short, but not
        the start of a process."""
        return cls(epochs=26 if len(os.sched_getaffinity(0)) < 4 else 60)


@dataclass(frozen=True)
class Facts:
    """The data as they were written, split and encoded."""

    log: Path
    rows: int
    users: int
    clicked: float
    train: int
    test: int
    ids: int
    best_auc: float
    """On the test part, of one who knows the truth from which the clicks were drawn, except the new users' habits."""


@dataclass(frozen=True)
class Trial:
    """One run of the job."""

    workers: int
    result: dict[str, Any]
    losses: list[float]
    """Of every step."""
    witness: Witness


@dataclass(frozen=True)
class Comparison:
    """Two trials of one job: what must be equal, and is or is not."""

    first: Trial
    second: Trial

    @property
    def equal(self) -> dict[str, bool]:
        one, two = self.first.result, self.second.result
        return {
            "model": one["model_sha256"] is not None and one["model_sha256"] == two["model_sha256"],
            "state": one["state_sha256"] is not None and one["state_sha256"] == two["state_sha256"],
            "losses": len(self.first.losses) > 0 and self.first.losses == self.second.losses,
            "metrics": len(one["metrics"]) > 0 and one["metrics"] == two["metrics"],
        }

    def require_equal(self) -> None:
        """Raises if the promise was broken."""
        different = [name for name, equal in self.equal.items() if not equal]
        if different:
            runs = f"{self.first.result['run']} and {self.second.result['run']}"
            raise RunError(
                f"the promise is broken: runs {runs} differ in {', '.join(different)}; "
                "please report this with the output of `holdfast doctor` and `holdfast events` of both runs"
            )


def write_data(folder: Path, size: Size) -> Facts:
    """Write the log into the folder; then read, split and encode it as every worker will."""
    from holdfast.data import sources

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made: {error.strerror}; set HOLDFAST_HOME elsewhere") from error
    log = access_log.write(folder / _LOG, size.rows, _SEED)
    dataset = sources.load("access_log", {"path": _LOG, "test": _TEST}, folder)
    users = log.user.tolist()
    _, judged = by_hash(uids(users), _TEST)
    return Facts(
        log=folder / _LOG,
        rows=size.rows,
        users=len(set(users)),
        clicked=float(log.clicked.mean()),
        train=len(dataset.train),
        test=len(judged),
        ids=dataset.info["vocabulary_size"],
        best_auc=log.best_auc(judged),
    )


def write_job(folder: Path, size: Size) -> Job:
    """A file like any user's, so that it can be run again by hand."""
    path = folder / "job.toml"
    path.write_text(_JOB.format(log=_LOG, test=_TEST, epochs=size.epochs), encoding="utf-8")
    return load_job(str(path), [])


def conduct(ledger: Ledger, job: Job, workers: int, witness: Witness) -> Trial:
    """Run the job to its end in this process; raises if it fails or the user stops it."""
    asked_at = time.monotonic()
    run = launch.launch(ledger, job.with_sets([f"crew.workers={workers}"]))
    result = launch.execute(ledger, run, witness, asked_at)
    if result["status"] == "stopped":
        raise Stopped(f"the demo was stopped; `holdfast resume {run}` would finish the run that was under way")
    if result["status"] != "finished":
        raise RunError(f"run {run} of the demo failed: {result['error']}")
    losses = [point.value for point in ledger.metrics(run, "train.loss")]
    return Trial(workers, result, losses, witness)


def summary(facts: Facts, comparison: Comparison, seconds: float) -> dict[str, Any]:
    """The whole demo as one object, for programs."""
    trials = (comparison.first, comparison.second)
    return {
        "same": all(comparison.equal.values()),
        "equal": comparison.equal,
        "model_sha256": comparison.first.result["model_sha256"],
        "fingerprint": comparison.first.result["fingerprint"],
        "best_auc": facts.best_auc,
        "data": {"rows": facts.rows, "users": facts.users, "train": facts.train, "test": facts.test, "ids": facts.ids},
        "seconds": seconds,
        "runs": [{**trial.result, "timeline": trial.witness.told()} for trial in trials],
    }
