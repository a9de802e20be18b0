"""A run trained again from its history: the same job, the same changes at the same steps, and nobody to disturb it."""

import shutil
from dataclasses import dataclass
from typing import Any

from holdfast.errors import RunError
from holdfast.ledger import UNFINISHED, Ledger
from holdfast.ledger.checkpoints import Reader, Section
from holdfast.run.gauges import digests
from holdfast.run.launch import execute, launch, place_of, saved_state, status_of
from holdfast.run.session import Show

_ALWAYS = ("state_sha256", "model_sha256", "steps")
_AT_THE_END = (*_ALWAYS, "loss", "metrics")


@dataclass(frozen=True)
class Verdict:
    original: dict[str, Any]
    replayed: dict[str, Any]

    @property
    def differs(self) -> list[str]:
        """What the two do not agree in, of what is known of both."""
        compared = _AT_THE_END if self.original["status"] == "finished" else _ALWAYS
        return [what for what in compared if self.original[what] != self.replayed.get(what)]

    def require_sameness(self) -> None:
        """Raises RunError that says what differs."""
        if self.differs:
            raise RunError(
                f"{' and '.join(self.differs)} differ: run {self.replayed['run']} ({self.replayed['status']}) "
                f"is not what {self.original['run']} is"
            )


def replay(ledger: Ledger, run: str, workers: str | None, show: Show) -> Verdict:
    """Train until where the run came, as another run; raises RunError where nothing could be compared."""
    if status_of(ledger, run) in UNFINISHED:
        raise RunError(f"run {run} is still being executed; replay it once it is over, or `holdfast stop {run}` first")
    original = _ending(ledger, run)
    again = _launch_again(ledger, run, workers, original["steps"])
    total = ledger.run(run).steps_total
    until = original["steps"] if original["steps"] < total else 0
    return Verdict(original, execute(ledger, again, show, until=until))


def _launch_again(ledger: Ledger, run: str, workers: str | None, steps: int) -> str:
    place, before = place_of(ledger, run), ledger.run(run)
    job = place.job()
    if workers is not None:
        job = job.with_sets([f'crew.workers="{workers}"'])
    if job.fingerprint != before.fingerprint:
        raise RunError(
            f"the job of run {run} had fingerprint {before.fingerprint} and has {job.fingerprint} now, since code "
            "beside it has changed: put the code back as it was"
        )
    again = launch(ledger, job)
    objects = place.root / "objects.pkl"
    if objects.exists():
        shutil.copy2(objects, place_of(ledger, again).root)
    place.changes.copy_to(place_of(ledger, again).changes, before_step=steps)
    ledger.add_event(again, "replays", f"replays run {run}", step=0)
    return again


def _ending(ledger: Ledger, run: str) -> dict[str, Any]:
    """How far the run came and with what: its result, or, if it was lost or failed, its newest checkpoint."""
    result = ledger.run(run).result or {}
    if result.get("state_sha256"):
        return result
    with Reader(saved_state(ledger, run)) as reader:
        entries = reader.sections.values()
        model, state = digests(Section(e.name, e.dtype, e.shape, memoryview(reader.bytes(e.name))) for e in entries)
        return {"run": run, "status": "saved", "steps": reader.step, "model_sha256": model, "state_sha256": state}
