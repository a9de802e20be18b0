"""What the demo has to say in words and numbers, the same for a terminal and a pipe."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    equal, pair = comparison.equal, (comparison.first, comparison.second)
    metrics = equal["metrics"]
    return [
        _row("SHA-256 of the model", pair, lambda r: _short(r["model_sha256"]), equal["model"]),
        _row("… and all state of training", pair, lambda r: _short(r["state_sha256"]), equal["state"]),
        Row("loss of every step", *(f"{len(trial.losses):,} values" for trial in pair), equal["losses"]),
        _row(f"AUC (best possible: {facts.best_auc:.4f})", pair, lambda r: _metric(r, "auc"), metrics),
        _row("accuracy", pair, lambda r: _metric(r, "accuracy"), metrics),
        _row("log loss", pair, lambda r: _metric(r, "log_loss"), metrics),
        _row("samples/s", pair, lambda r: f"{r['samples_per_s']:,.0f}"),
        _row("seconds of training", pair, lambda r: f"{r['seconds']:.1f}"),
        _row("seconds to the first step", pair, lambda r: f"{r['first_step_s']:.1f}"),
        Row("workers killed, replaced", *(_losses(trial) for trial in pair)),
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


def _row(label: str, pair: tuple[Trial, Trial], shown: Any, equal: bool | None = None) -> Row:
    return Row(label, shown(pair[0].result), shown(pair[1].result), equal)


def _short(digest: str | None) -> str:
    return f"{digest[:16]}…" if digest else "none"


def _metric(result: dict[str, Any], name: str) -> str:
    return f"{result['metrics'][name]:.6f}"


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
