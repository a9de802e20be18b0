"""Executing a run for a command: the way there, and what is printed at its end. `run` and `resume` share it."""

from typing import Any

from holdfast.cli.asked import asked_at
from holdfast.cli.printed import print_facts, print_json
from holdfast.errors import RunError, Stopped
from holdfast.ledger import Ledger
from holdfast.run import launch
from holdfast.run.detached import Silent
from holdfast.run.show import default_show, numbers


def execute(ledger: Ledger, run: str, as_json: bool, quiet: bool) -> None:
    """Until the end of the run; raises what its exit code is to be, unless it finished."""
    conclude(ledger, run, launch.execute(ledger, run, Silent() if quiet else default_show(), asked_at()), as_json)


def conclude(ledger: Ledger, run: str, result: dict[str, Any], as_json: bool) -> None:
    """Print how a run ended; raises what the exit code is to be, unless it finished."""
    if not result:
        raise RunError(f"run {run} was lost; `holdfast resume {run}` goes on from its newest checkpoint")
    print_result(result, as_json)
    if result["status"] == "failed":
        raise RunError(f"run {run} failed: {result['error']}")
    if result["status"] == "stopped":
        raise Stopped(_how_to_resume(ledger, run, result))


def detach(ledger: Ledger, run: str, as_json: bool) -> None:
    """Leave the run to a process of its own."""
    launch.detach(ledger, run)
    if as_json:
        print_json({"run": run, "status": "starting"})
    else:
        print(f"{run} trains in the background; `holdfast events {run} -f` follows it, `holdfast stop {run}` stops it")


def print_result(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(result)
    elif result["status"] == "finished":
        print_facts(facts_of(result))


def facts_of(result: dict[str, Any]) -> dict[str, str]:
    """A result for people."""
    speed = result.get("samples_per_s")
    return {
        "run": result["run"],
        "status": f"{result['status']} at step {result['steps']:,}",
        "speed": f"{speed:,.0f} samples/s on {_workers(result)}" if speed else "",
        "metrics": numbers(result["metrics"]),
        "model": f"sha256 {result['model_sha256']}" if result.get("model_sha256") else "",
    }


def _workers(result: dict[str, Any]) -> str:
    views = result["views"]
    crew = f"{result['workers']} worker{'s' * (result['workers'] != 1)}"
    return crew if views < 2 else f"{crew}, in {views} views"


def _how_to_resume(ledger: Ledger, run: str, result: dict[str, Any]) -> str:
    saved = ledger.checkpoints(run)
    if not saved:
        return f"run {run} was stopped before anything was saved; `holdfast resume {run}` begins it anew"
    return (
        f"run {run} was stopped at step {result['steps']}; "
        f"`holdfast resume {run}` goes on from the checkpoint of step {saved[0].step}"
    )
