"""`holdfast clean`: remove what dead runs left behind."""

from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.arguments import Json

if TYPE_CHECKING:
    from holdfast.run.janitor import Leftover


def clean(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Remove nothing; say what would be removed.")] = False,
    as_json: Json = False,
) -> None:
    """Remove what dead runs left behind: sockets, drafts, leases, processes. Nothing of a living run is touched."""
    from holdfast.cli.printed import print_json
    from holdfast.ledger import Ledger
    from holdfast.run import janitor

    with Ledger.open() as ledger:
        found = janitor.look(ledger)
        gone = [] if dry_run else janitor.remove(ledger, found)
    if as_json:
        leftovers = [{**asdict(one), "removed": one in gone} for one in found]
        print_json({"dry_run": dry_run, "leftovers": leftovers, "bytes_freed": _bytes(gone)})
        return
    for one in found:
        print(_line(one, dry_run, one in gone))
    print(_summary(found, gone, dry_run))


def _line(one: "Leftover", dry_run: bool, is_gone: bool) -> str:
    from holdfast.cli.printed import size

    # Of a process the pid is enough for people; its birth is for the janitor.
    what = one.what.partition("-")[0] if one.kind == "process" else one.what
    thing = f"{one.kind} {what} of run {one.run}" + (f" ({size(one.bytes)})" if one.bytes else "")
    if dry_run:
        return f"would remove {thing}: {one.why}"
    if is_gone:
        return f"removed {thing}: {one.why}"
    return f"left {thing}: it is in use again, or the system refused"


def _summary(found: Collection["Leftover"], gone: Collection["Leftover"], dry_run: bool) -> str:
    from holdfast.cli.printed import size

    if not found:
        return "nothing to remove"
    if dry_run:
        return f"{len(found)} to remove, {size(_bytes(found))} to free"
    return f"{len(gone)} of {len(found)} removed, {size(_bytes(gone))} freed"


def _bytes(leftovers: Collection["Leftover"]) -> int:
    return sum(one.bytes for one in leftovers)
