"""`holdfast pause`: let all work rest, and keep everything in memory."""

from holdfast.cli.arguments import RunRef


def pause(run: RunRef) -> None:
    """Let a run rest, within its step if it is a long one, until `holdfast resume`. Its workers keep their memory."""
    from holdfast.ledger import Ledger
    from holdfast.run import launch

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        launch.ask(ledger, found, {"kind": "pause"})
    print(f"{found} is paused; `holdfast resume {found}` lets it go on")
