"""`holdfast chaos`: a job under a storm, and whether it kept its promise."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from holdfast.cli.arguments import JobRef, Json, Sets, Workers, changes

Seed = Annotated[int, typer.Option(metavar="N", help="Which storm.")]
Minutes = Annotated[float, typer.Option(metavar="M", help="How long it blows, if the run takes so long.")]
Every = Annotated[float, typer.Option("--every", metavar="SECONDS", help="Between two blows, on average.")]


def chaos(
    job: JobRef,
    seed: Seed = 0,
    minutes: Minutes = 1.0,
    every: Every = 2.0,
    workers: Workers = None,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Train a job twice, in calm and while its processes are killed and stopped, and compare the models."""
    from holdfast.cli.printed import print_json
    from holdfast.errors import RunError
    from holdfast.job import load_job

    loaded = load_job(job, changes(sets, workers))
    from holdfast.ledger import Ledger
    from holdfast.run.chaos import Blow, storm

    def tell(blow: Blow) -> None:
        print(f"[{blow.after_s:6.1f} s] {blow.kind}: {blow.whom}", file=sys.stderr, flush=True)

    with Ledger.open() as ledger:
        verdict = storm(ledger, loaded, seed, 60.0 * minutes, every, tell)
    if as_json:
        told = {"seed": seed, "same": not verdict.differs, "differs": verdict.differs}
        blows = [asdict(blow) for blow in verdict.blows]
        runs = {"calm": verdict.calm, "stormy": verdict.stormy, "mean_workers": verdict.mean_workers}
        print_json({**told, "blows": blows, **runs})
    elif not verdict.differs:
        blows_met = f"{len(verdict.blows)} blows at {verdict.mean_workers:.1f} workers on average"
        print(f"{blows_met}, and the same model: sha256 {verdict.calm['model_sha256']}")
    if verdict.differs:
        raise RunError(
            f"after {len(verdict.blows)} blows of storm {seed}, {' and '.join(verdict.differs)} differ: run "
            f"{verdict.stormy['run']} ({verdict.stormy['status']}) is not what run {verdict.calm['run']} is"
        )
