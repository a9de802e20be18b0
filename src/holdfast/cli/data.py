"""`holdfast data`: the built-in sources."""

from holdfast.cli.arguments import Json


def data(as_json: Json = False) -> None:
    """List the data that a job can name, with their arguments."""
    from inspect import signature

    from holdfast.cli.printed import print_json
    from holdfast.data.sources import SOURCES

    found = {
        name: {"doc": entry.doc, "args": [str(p) for p in signature(entry.factory).parameters.values()]}
        for name, entry in SOURCES.items()
    }
    if as_json:
        print_json(found)
        return
    for name, source in found.items():
        print(f"{name}: {source['doc']}")
        for argument in source["args"]:
            print(f"  {argument}")
