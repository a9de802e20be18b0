"""`holdfast models`: the catalogue."""

from holdfast.cli.arguments import Json


def models(as_json: Json = False) -> None:
    """List the models that a job can name, with their arguments."""
    from holdfast.cli.printed import print_columns, print_json
    from holdfast.models.catalogue import CATALOGUE

    if as_json:
        print_json({name: {"tasks": e.tasks, "doc": e.doc, "args": dict(e.args)} for name, e in CATALOGUE.items()})
        return
    for name, entry in CATALOGUE.items():
        print(f"{name}: {entry.doc} ({', '.join(entry.tasks)})")
        print_columns([f"  {arg}", meaning] for arg, meaning in entry.args.items())
