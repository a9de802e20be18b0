"""`holdfast resume`: go on."""

import sys
from typing import TYPE_CHECKING

from holdfast.cli.arguments import Detach, Json, Quiet, RunRef, Workers, changes

if TYPE_CHECKING:
    from holdfast.ledger import Ledger, Run


def resume(
    run: RunRef, workers: Workers = None, as_json: Json = False, detach: Detach = False, quiet: Quiet = False
) -> None:
    """Go on with a run, paused or stopped, to the same bits as if it had never rested."""
    from holdfast.cli import execution
    from holdfast.cli.printed import print_json
    from holdfast.ledger import Ledger
    from holdfast.run import launch
    from holdfast.run.lease import is_executed

    with Ledger.open() as ledger:
        found = ledger.run(run)
        if found.status == "finished":
            print(f"run {found.id} is finished already, at step {found.steps_done}", file=sys.stderr)
            execution.print_result(found.result or {}, as_json)
            return
        if found.status == "paused" and is_executed(ledger, found.id):
            launch.ask(ledger, found.id, {"kind": "unpause"})
            if as_json:
                print_json({"run": found.id, "status": "running"})
            else:
                print(f"{found.id} goes on; `holdfast attach {found.id}` watches it")
            return
        _prepare(ledger, found, workers)
        if detach:
            execution.detach(ledger, found.id, as_json)
        else:
            execution.execute(ledger, found.id, as_json, quiet)


def _prepare(ledger: "Ledger", run: "Run", workers: str | None) -> None:
    """Refuse what is being executed, and write down another number of workers: it cannot change the model."""
    from holdfast.errors import RunError
    from holdfast.run.launch import is_alive, place_of

    if is_alive(ledger, run.id):
        raise RunError(f"run {run.id} is being executed already; `holdfast stop {run.id}` stops it first")
    if workers is not None:
        place = place_of(ledger, run.id)
        job = place.load_job()[0].with_sets(changes(None, workers))
        place.prepare(job)
        ledger.update_run(run.id, workers=job.crew.workers.start)
