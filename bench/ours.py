"""Holdfast's side, as a user starts it: `python -m holdfast run bench/jobs.py:NAME --workers N --json`."""

import json
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from cases import CASES
from commands import HERE, UnavailableError, output, peak_pss

_UNORDERED = {"PYTHONPATH": str(HERE / "unordered")}
"""The environment in which every worker adds gradients in an order of its own."""

_NO_CHECKPOINTS = ("checkpoint.every_minutes=none", "checkpoint.every_steps=none")


def rate(case: str, steps: int) -> float:
    """Two workers, one replica each."""
    return _steady(_run(case, 2, steps))


def one_worker_rate(case: str, steps: int) -> float:
    """One worker with one replica: the work of a hand-written loop in one process."""
    sets = ("train.replicas=1", f"train.batch={CASES[case].batch}")
    return _steady(_run(case, 1, steps, sets))


def quarters_rate(case: str, steps: int) -> float:
    """Two workers with four replicas each: the same global batch in micro-batches of a quarter."""
    return _steady(_run(case, 2, steps, ("train.replicas=8",)))


def unordered_rate(case: str, steps: int) -> float:
    return _steady(_run(case, 2, steps, environment=_UNORDERED))


def first_step_s() -> float:
    return float(_run("first_step", 2, 5)["first_step_s"])


def peak_bytes(case: str, steps: int) -> float:
    """Of the four workers, the captain and the command: all processes there are."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home:
        command = _command(case, 4, steps, _NO_CHECKPOINTS)
        return peak_pss(command, 4, with_launcher=True, environment={"HOLDFAST_HOME": home})


def without_checkpoint(case: str, steps: int) -> tuple[float, float]:
    """Samples/s of the whole run, and by how many seconds its longest step exceeded the usual one."""
    return _rate_and_stall(_run(case, 2, steps))


def with_one_checkpoint(case: str, steps: int) -> tuple[float, float]:
    """The same, with one checkpoint just after the middle of the run."""
    return _rate_and_stall(_run(case, 2, steps, (f"checkpoint.every_steps={steps // 2 + 1}",)))


def _steady(result: Mapping[str, Any]) -> float:
    return float(result["steady_samples_per_s"])


def _rate_and_stall(result: Mapping[str, Any]) -> tuple[float, float]:
    return float(result["samples_per_s"]), float(result["longest_step_s"]) - float(result["median_step_s"])


def _run(
    case: str,
    workers: int,
    steps: int,
    sets: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Each run has a home of its own, so that no ledger grows and no checkpoint outlives its run."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home:
        command = _command(case, workers, steps, (*_NO_CHECKPOINTS, *sets))
        printed = output(command, {"HOLDFAST_HOME": home, **(environment or {})})
    result: dict[str, Any] = json.loads(printed[f"\n{printed}".rindex("\n{") :])
    if result["steps"] != steps:
        raise UnavailableError(f"the run ended with {result['status']} after {result['steps']} steps")
    return result


def _command(case: str, workers: int, steps: int, sets: tuple[str, ...]) -> list[str]:
    command = [sys.executable, "-m", "holdfast", "run", f"bench/jobs.py:{case}", "--workers", str(workers)]
    settings = [part for text in (f"train.steps={steps}", *sets) for part in ("--set", text)]
    return [*command, *settings, "--json"]
