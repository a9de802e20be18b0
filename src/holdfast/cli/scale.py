"""`holdfast scale`: more workers, or fewer."""

from typing import Annotated

import typer

from holdfast.cli.arguments import RunRef


def scale(run: RunRef, workers: Annotated[int, typer.Argument(metavar="N", help="Workers to have.")]) -> None:
    """Give a run that is being executed another number of workers; who leaves does so at once, between two replicas."""
    from holdfast.ledger import Ledger
    from holdfast.run import launch

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        launch.ask(ledger, found, {"kind": "scale", "workers": workers})
    print(f"{found} is to have {workers} worker{'s' * (workers != 1)}")
