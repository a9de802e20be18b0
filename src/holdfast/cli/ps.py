"""`holdfast ps`: the runs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.arguments import Json

if TYPE_CHECKING:
    from holdfast.ledger import Ledger

_ACTIVE = ("starting", "running", "paused")
_NEWEST = 10


def ps(
    everything: Annotated[bool, typer.Option("--all", "-a", help="Every run there ever was.")] = False,
    as_json: Json = False,
) -> None:
    """List the runs, newest first: those that are going on and the newest ten."""
    from holdfast.cli.printed import moment, print_columns, print_json
    from holdfast.ledger import Ledger

    with Ledger.open() as ledger:
        rows = _rows(ledger, everything)
    if as_json:
        print_json({"runs": rows})
        return
    head = ("RUN", "STATUS", "STEPS", "WORKERS", "CREATED")
    print_columns([head, *((r["run"], r["status"], _steps(r), str(r["workers"]), moment(r["created"])) for r in rows)])


def _rows(ledger: "Ledger", everything: bool) -> list[dict[str, Any]]:
    from holdfast.run.launch import status_of

    wanted = [run for place, run in enumerate(ledger.runs()) if everything or place < _NEWEST or run.status in _ACTIVE]
    return [
        {
            "run": run.id,
            "name": run.name,
            "status": status_of(ledger, run.id),
            "steps": run.steps_done,
            "steps_total": run.steps_total,
            "workers": run.workers,
            "created": run.created,
            "fingerprint": run.fingerprint,
        }
        for run in wanted
    ]


def _steps(row: dict[str, Any]) -> str:
    return f"{row['steps']:,}/{row['steps_total']:,}" if row["steps_total"] else f"{row['steps']:,}"
