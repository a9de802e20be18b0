"""`holdfast replay`: train a run again from its history, and compare."""

from holdfast.cli.arguments import Json, Quiet, RunRef, Workers


def replay(run: RunRef, workers: Workers = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Train a run that is over again, undisturbed, with its changes at their steps, and compare the models."""
    from holdfast.cli.printed import print_json
    from holdfast.ledger import Ledger
    from holdfast.run import replay
    from holdfast.run.detached import Silent
    from holdfast.run.show import default_show

    with Ledger.open() as ledger:
        verdict = replay.replay(ledger, ledger.run(run).id, workers, Silent() if quiet else default_show())
    old, new = verdict.original, verdict.replayed
    if as_json:
        print_json({"same": not verdict.differs, "differs": verdict.differs, "original": old, "replayed": new})
    elif not verdict.differs:
        print(f"{new['run']} replays {old['run']} to step {old['steps']}: the same model, sha256 {old['model_sha256']}")
    verdict.require_sameness()
