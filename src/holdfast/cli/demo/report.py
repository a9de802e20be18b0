"""What the demo has to say in words and numbers, the same for a terminal and a pipe."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.demo.experiment import CREW, Comparison, Facts, Trial
from holdfast.cli.demo.witness import Moment, Witness
from holdfast.job import Job

TITLE = "The model a job produces is a function of the job, never of the crew that computed it."


@dataclass(frozen=True)
class Row:
    """A line of the comparison; `equal` is None for what may differ."""

    label: str
    first: str
    second: str
    equal: bool | None = None


def of_data(facts: Facts) -> list[tuple[str, str]]:
    return [
        ("data", f"{facts.rows:,} lines of an access log, made from a known truth: {facts.log}"),
        (
            "split",
            f"{facts.train:,} to learn from, {facts.test:,} to judge by; by the hash of each of {facts.users:,} users",
        ),
        ("features", f"hour, page and words of the query, as bags of {facts.ids:,} ids"),
    ]


def of_job(job: Job) -> list[tuple[str, str]]:
    train = job.train
    text = (
        f"logistic regression, {train.replicas} replicas, batches of {train.batch:,}, {train.epochs} epochs of the data"
    )
    return [("job", f"{text}; fingerprint {job.fingerprint}")]


def state_of(witness: Witness, crew: str) -> str:
    """One line on how a trial is doing."""
    latest = witness.latest
    if latest is None or not latest.step:
        return f"{crew}: Python, torch and the data are being loaded"
    done = f"step {latest.step:,} of {latest.steps:,}"
    loss = "" if latest.loss is None else f", loss {latest.loss:.4f}"
    speed = "" if latest.samples_per_s is None else f", {latest.samples_per_s:,.0f} samples/s"
    return done + loss + (speed if latest.step < latest.steps else "")


def events_of(witness: Witness) -> list[Moment]:
    """What is worth a line: everything since the first crew stood."""
    moments = list(witness.moments)
    kinds = [moment.kind for moment in moments]
    return moments[kinds.index("view") :] if "view" in kinds else []


def comparison_rows(facts: Facts, comparison: Comparison) -> list[Row]:
    equal = comparison.equal

    def row(label: str, shown: Callable[[Trial], str], same: bool | None = None) -> Row:
        return Row(label, shown(comparison.first), shown(comparison.second), same)

    return [
        row("SHA-256 of the model", lambda trial: _short(trial.result["model_sha256"]), equal["model"]),
        row("… and all state of training", lambda trial: _short(trial.result["state_sha256"]), equal["state"]),
        row("loss of every step", lambda trial: f"{len(trial.losses):,} values", equal["losses"]),
        row(f"AUC (best possible: {facts.best_auc:.4f})", _metric("auc"), equal["metrics"]),
        row("accuracy", _metric("accuracy"), equal["metrics"]),
        row("log loss", _metric("log_loss"), equal["metrics"]),
        row("samples/s", lambda trial: f"{trial.result['samples_per_s']:,.0f}"),
        row("seconds of training", lambda trial: f"{trial.result['seconds']:.1f}"),
        row("seconds to the first step", lambda trial: f"{trial.result['first_step_s']:.1f}"),
        row("workers killed, replaced", _losses),
    ]


def verdict(comparison: Comparison) -> str:
    if not all(comparison.equal.values()):
        return "NOT the same model: the promise is broken"
    return f"the same model, to the last bit: SHA-256 {comparison.first.result['model_sha256']}"


def remarks(comparison: Comparison) -> list[str]:
    """What an honest seller says without being asked."""
    cores = len(os.sched_getaffinity(0))
    found = []
    if not any(life.died is not None for life in comparison.second.witness.lives):
        found.append("Nobody was killed: the run was over before its half was seen.")
    elif comparison.second.witness.replacement is None:
        found.append("The replacement was still being started when the run ended.")
    if cores < CREW:
        found.append(
            f"{CREW} workers share {cores} core{'s' * (cores > 1)} here, and a step of this small model takes a few "
            "milliseconds: the demo shows what survives, not how fast it can be (that is `make bench`)."
        )
    found.append("The best possible AUC is that of the truth itself, short of the habits of users never seen before.")
    return found


def next_steps(facts: Facts) -> list[tuple[str, str]]:
    """Commands that work as they are printed, and what they are for."""
    holdfast = _command()
    return [
        (f"{holdfast} show last", "everything about the run just seen"),
        (
            f"{holdfast} run {_near(facts.log.with_name('job.toml'))} --workers 3",
            "the same job on your crew: the same SHA-256",
        ),
    ]


def _short(digest: str | None) -> str:
    return f"{digest[:12]}…" if digest else "none"


def _metric(name: str) -> Callable[[Trial], str]:
    return lambda trial: f"{trial.result['metrics'][name]:.6f}"


def _losses(trial: Trial) -> str:
    deaths = sum(life.died is not None for life in trial.witness.lives)
    return f"{deaths}, {int(trial.witness.replacement is not None)}"


def _command() -> str:
    """How this very installation is called from this very shell."""
    own = Path(sys.executable).with_name("holdfast")
    found = shutil.which("holdfast")
    if found and own.exists() and Path(found).samefile(own):
        return "holdfast"
    return _near(own) if own.exists() else f"{_near(Path(sys.executable))} -m holdfast"


def _near(path: Path) -> str:
    """As short as it can be written from here."""
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
