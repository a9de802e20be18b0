"""What is remembered: the database of runs, the checkpoints beside it, and the curves.

`Ledger` is loaded on first use: SQLAlchemy costs 150 ms of start-up, and a worker needs only the checkpoints.
"""

from typing import TYPE_CHECKING, Any

from holdfast.ledger.place import home
from holdfast.ledger.rows import (
    UNFINISHED,
    CheckpointRow,
    CheckpointStatus,
    Event,
    Lease,
    Metric,
    Run,
    RunChange,
    Status,
)

if TYPE_CHECKING:
    from holdfast.ledger.ledger import Ledger

__all__ = [
    "UNFINISHED",
    "CheckpointRow",
    "CheckpointStatus",
    "Event",
    "Lease",
    "Ledger",
    "Metric",
    "Run",
    "RunChange",
    "Status",
    "home",
]


def __getattr__(name: str) -> Any:
    if name != "Ledger":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from holdfast.ledger.ledger import Ledger

    globals()["Ledger"] = Ledger
    return Ledger
