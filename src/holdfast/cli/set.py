"""`holdfast set`: change how a run trains, from its next step on."""

from typing import Annotated, Any

import typer

from holdfast.cli.arguments import Json, RunRef

_Assignments = Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="As in optimizer.lr=0.001.")]


def set_(run: RunRef, changes: _Assignments, as_json: Json = False) -> None:
    """Change optimizer, schedule or clipping while a run trains. The step is written into the run's history."""
    from holdfast.cli.printed import print_json
    from holdfast.ledger import Ledger
    from holdfast.run import launch

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        number, change = launch.change(ledger, found, changes)
    told: dict[str, Any] = {"run": found, "change": number, "sets": list(change.sets), "from_step": change.from_step}
    if as_json:
        print_json(told)
    elif change.from_step is None:
        print(f"{found}: {change} from the next step on, which is still to come")
    else:
        print(f"{found}: {change} from step {change.from_step} on")
