"""Following a run that other processes execute."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.ledger import Ledger

_PAUSE_S = 0.2


def looks(ledger: "Ledger", run: str, follow: bool) -> Iterator[None]:
    """Once for each look that is worth taking: one, or as many as there are until the run is over, and one more."""
    from holdfast.ledger import UNFINISHED
    from holdfast.run.launch import status_of

    while follow and status_of(ledger, run) in UNFINISHED:
        yield
        time.sleep(_PAUSE_S)
    yield
