"""The main of a process that executes one run, with nobody looking on."""

import sys
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.job import Job
from holdfast.ledger import Ledger
from holdfast.run.captain import Note
from holdfast.run.launch import execute
from holdfast.run.progress import Snapshot


class Silent:
    """Looks on without a word; everything is in the ledger."""

    def begin(self, run: str, job: Job) -> None: ...

    def note(self, note: Note, trace: str, step: int) -> None: ...

    def progress(self, snapshot: Snapshot) -> None: ...

    def measured(self, step: int, metrics: dict[str, Any]) -> None: ...

    def end(self) -> None: ...


def main() -> None:
    run, home = sys.argv[1:3]
    with Ledger.open(Path(home)) as ledger:
        try:
            execute(ledger, run, Silent())
        except HoldfastError as error:
            ledger.update_run(run, status="failed", error=str(error))
            sys.exit(str(error))


if __name__ == "__main__":
    main()
