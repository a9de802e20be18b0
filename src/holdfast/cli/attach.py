"""`holdfast attach`: look on at a run that goes on elsewhere."""

import sys

from holdfast.cli.arguments import Json, Quiet, RunRef


def attach(run: RunRef, as_json: Json = False, quiet: Quiet = False) -> None:
    """Watch a run that another process executes, until it is over. Ctrl-C stops watching; the run goes on."""
    from holdfast.cli import execution
    from holdfast.ledger import Ledger
    from holdfast.run.attach import attach as look_on
    from holdfast.run.detached import Silent
    from holdfast.run.show import default_show

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        try:
            result = look_on(ledger, found, Silent() if quiet else default_show())
        except KeyboardInterrupt:
            print(f"{found} goes on; `holdfast attach {found}` watches it again", file=sys.stderr)
            return
        execution.conclude(ledger, found, result, as_json)
