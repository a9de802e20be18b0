"""The main of a process that executes one run, with nobody looking on."""

import sys
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.job import Job
from holdfast.ledger import Ledger
from holdfast.run.events import Note
from holdfast.run.launch import execute
from holdfast.run.lease import Superseded
from holdfast.run.progress import Snapshot


class Silent:
    """Looks on without a word; everything is in the ledger."""

    def begin(self, run: str, job: Job) -> None: ...

    def note(self, note: Note, trace: str, step: int) -> None: ...

    def progress(self, snapshot: Snapshot) -> None: ...

    def measured(self, step: int, metrics: dict[str, Any]) -> None: ...

    def end(self) -> None: ...


def main() -> None:
    """A run and its home; and, if a crew is to be led on, the descriptor of its arena."""
    run, home, *arena = sys.argv[1:4]
    with Ledger.open(Path(home)) as ledger:
        if arena:
            lead_on(ledger, run, int(arena[0]))
            return
        try:
            execute(ledger, run, Silent())
        except Superseded as error:
            sys.exit(str(error))
        except HoldfastError as error:
            ledger.update_run(run, status="failed", error=str(error))
            sys.exit(str(error))


def lead_on(ledger: Ledger, run: str, arena: int) -> None:
    """Several workers may have started a process like this; all but one find the lease taken, and leave."""
    try:
        execute(ledger, run, Silent(), arena=arena)
    except HoldfastError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
