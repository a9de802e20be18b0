"""`holdfast events`: the time line of a run."""

from dataclasses import asdict

from holdfast.cli.arguments import Follow, Json, RunRef


def events(run: RunRef, follow: Follow = False, as_json: Json = False) -> None:
    """Print what happened to a run. With --follow, --json prints one object per line."""
    from holdfast.cli.following import looks
    from holdfast.cli.printed import print_json
    from holdfast.cli.show import line_of
    from holdfast.ledger import Ledger

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        if as_json and not follow:
            print_json({"run": found, "events": [asdict(event) for event in ledger.events(found)]})
            return
        last = 0
        for _ in looks(ledger, found, follow):
            for event in ledger.events(found, last):
                last = event.id
                if as_json:
                    print_json(asdict(event), indent=None)
                else:
                    when, step, text = line_of(event)
                    print(f"{when}  {step:<11} {text}", flush=True)
