"""`holdfast run`: train."""

from holdfast.cli.arguments import Detach, JobRef, Json, Quiet, Sets, Workers, changes


def run(
    job: JobRef,
    workers: Workers = None,
    sets: Sets = None,
    as_json: Json = False,
    detach: Detach = False,
    quiet: Quiet = False,
) -> None:
    """Train a job, and watch it. Ctrl-C stops it at the end of a step and saves it; a second one stops at once."""
    from holdfast.job import load_job

    loaded = load_job(job, changes(sets, workers))
    from holdfast.cli import execution
    from holdfast.ledger import Ledger
    from holdfast.run.launch import launch

    with Ledger.open() as ledger:
        launched = launch(ledger, loaded)
        if detach:
            execution.detach(ledger, launched, as_json)
        else:
            execution.execute(ledger, launched, as_json, quiet)
