"""`holdfast logs`: what the processes of a run wrote."""

import re
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.arguments import Follow, RunRef
from holdfast.errors import LedgerError


def logs(
    run: RunRef,
    follow: Follow = False,
    worker: Annotated[int | None, typer.Option(metavar="N", help="Of this worker only.")] = None,
) -> None:
    """Print what the workers of a run wrote, tracebacks in full."""
    from holdfast.cli.following import looks
    from holdfast.ledger import Ledger
    from holdfast.run.launch import place_of

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        folder = place_of(ledger, found).logs
        if worker is not None and not follow:
            _refuse_unknown(folder, worker)
        read: dict[Path, int] = {}
        for _ in looks(ledger, found, follow):
            for path in _files(folder, worker):
                read[path] = _print_from(path, read.get(path, 0))


def _files(folder: Path, worker: int | None) -> list[Path]:
    wanted = "*.log" if worker is None else f"worker-{worker}.log"
    return sorted(folder.glob(wanted), key=lambda path: (len(path.stem), path.stem))


def _print_from(path: Path, start: int) -> int:
    """Print the whole lines that came after `start`, and say where they end."""
    data = path.read_bytes()[start:]
    whole = data[: data.rfind(b"\n") + 1]
    for line in whole.decode(errors="replace").splitlines():
        print(f"{path.stem.replace('-', ' ')} | {line}", flush=True)
    return start + len(whole)


def _refuse_unknown(folder: Path, worker: int) -> None:
    known = sorted(int(found[1]) for path in folder.iterdir() if (found := re.fullmatch(r"worker-(\d+)", path.stem)))
    if worker not in known:
        names = ", ".join(map(str, known)) or "none yet"
        raise LedgerError(f"this run has no worker {worker}; its workers: {names}")
