"""Why a run cannot go on, in a sentence for whoever started it."""

from holdfast.run.events import Place


def another_model(worker: int, digest: str, others: str) -> str:
    return (
        f"worker {worker} built another model than the others (layout {digest} instead of {others}): "
        "the model or the data depend on something that is not in the job"
    )


def too_few(deaths: int, restarts: int, left: int, at_least: int, cause: str) -> str:
    return (
        f"{deaths} workers died, which is more than crew.restarts = {restarts}, and "
        f"{left} are left of at least {at_least}; the last: {cause}"
    )


def poisoned(at: Place, times: int, replicas: int, batch: int, cause: str) -> str:
    """So many workers died one after the other at this place of the job."""
    first = at.step * batch
    low, high = (first + part * batch // replicas for part in (at.replica, at.replica + 1))
    return (
        f"replica {at.replica} of step {at.step} killed {times} workers one after the other, so a sample at "
        f"one of the positions {low} to {max(low, high - 1)} is poison, or the model's code is; the last: {cause}"
    )
