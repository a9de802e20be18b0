"""`holdfast drain`: one worker less, and which one."""

from typing import Annotated

import typer

from holdfast.cli.arguments import RunRef


def drain(run: RunRef, worker: Annotated[int, typer.Argument(metavar="WORKER", help="The worker's number.")]) -> None:
    """Let a worker leave politely; the others take over its replicas, and it is not replaced."""
    from holdfast.ledger import Ledger
    from holdfast.run import launch

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        launch.ask(ledger, found, {"kind": "drain", "worker": worker})
    print(f"worker {worker} of {found} leaves")
