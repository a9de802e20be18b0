"""`holdfast stop`: end a run early, to go on later."""

from holdfast.cli.arguments import RunRef


def stop(run: RunRef) -> None:
    """Stop a run at the end of its step, with a checkpoint; from any terminal."""
    from holdfast.ledger import Ledger
    from holdfast.run import launch

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        launch.stop(ledger, found)
    print(f"{found} stops at the end of its step; `holdfast resume {found}` will go on from there")
