"""The Python interface: `train`, `submit`, and what can be asked of a run afterwards."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import RunError
from holdfast.job import Job
from holdfast.ledger import Event, Ledger
from holdfast.run import launch
from holdfast.run.changes import Change
from holdfast.run.place import RunPlace
from holdfast.run.session import Show

if TYPE_CHECKING:
    from torch import nn

_OVER = ("finished", "stopped", "failed", "lost")


class Run:
    """A run on record. Every question is answered from the ledger and the run's directory, at any time."""

    def __init__(self, run: str = "last", home: Path | None = None) -> None:
        self._home = home
        with Ledger.open(home) as ledger:
            self.id = ledger.run(run).id
            self._place: RunPlace = launch.place_of(ledger, self.id)

    @property
    def status(self) -> str:
        with Ledger.open(self._home) as ledger:
            return launch.status_of(ledger, self.id)

    @property
    def result(self) -> dict[str, Any]:
        """What `--json` prints; empty before the end."""
        with Ledger.open(self._home) as ledger:
            return ledger.run(self.id).result or {}

    @property
    def metrics(self) -> dict[str, Any]:
        metrics: dict[str, Any] = self.result.get("metrics", {})
        return metrics

    @property
    def fingerprint(self) -> str:
        with Ledger.open(self._home) as ledger:
            return ledger.run(self.id).fingerprint

    @property
    def model_sha256(self) -> str | None:
        return self.result.get("model_sha256")

    @property
    def job(self) -> Job:
        return self._place.job()

    @property
    def events(self) -> list[Event]:
        with Ledger.open(self._home) as ledger:
            return ledger.events(self.id)

    def history(self, name: str = "loss") -> list[tuple[int, float]]:
        """A curve, as pairs of step and value: "loss", "lr", "grad_norm", or a metric of the test set."""
        with Ledger.open(self._home) as ledger:
            for full in (f"train.{name}", f"test.{name}"):
                if points := ledger.metrics(self.id, full):
                    return [(point.step, point.value) for point in points]
            known = sorted({point.name.partition(".")[2] for point in ledger.metrics(self.id)})
        raise RunError(f"run {self.id} has no curve '{name}'; it has {', '.join(known) or 'none yet'}")

    def model(self) -> "nn.Module":
        """The trained module, from the newest checkpoint, ready for inference."""
        from holdfast.run.trained import trained_model

        with Ledger.open(self._home) as ledger:
            return trained_model(self._place, launch.saved_state(ledger, self.id)).model

    def stop(self) -> None:
        with Ledger.open(self._home) as ledger:
            launch.stop(ledger, self.id)

    def set(self, *assignments: str) -> Change:
        """Change how it trains from the next step on, as in "optimizer.lr=0.001"; the change, with that step."""
        with Ledger.open(self._home) as ledger:
            return launch.change(ledger, self.id, assignments)[1]

    def replay(self, workers: int | str | None = None, show: Show | None = None) -> "Run":
        """Train again from its history, as another run; raises RunError if that is not the same model."""
        from holdfast.run.replay import replay

        with Ledger.open(self._home) as ledger:
            verdict = replay(ledger, self.id, None if workers is None else str(workers), show or _default_show())
        verdict.require_sameness()
        return Run(verdict.replayed["run"], self._home)

    def wait(self, timeout_s: float | None = None) -> "Run":
        """Until the run is over; raises RunError if it failed or was lost."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self.status not in _OVER:
            if deadline is not None and time.monotonic() > deadline:
                raise RunError(f"run {self.id} is not over after {timeout_s:g} s; it goes on")
            time.sleep(0.1)
        return self._checked()

    def resume(self, show: Show | None = None) -> "Run":
        """Go on from the newest checkpoint, in this process, until the end."""
        with Ledger.open(self._home) as ledger:
            launch.execute(ledger, self.id, show or _default_show())
        return self._checked()

    def _checked(self) -> "Run":
        if self.status in ("failed", "lost"):
            with Ledger.open(self._home) as ledger:
                error = ledger.run(self.id).error
            raise RunError(error or f"the process of run {self.id} died; `resume` goes on from its last checkpoint")
        return self

    def __repr__(self) -> str:
        return f"Run('{self.id}', {self.status})"


def train(job: Job, workers: int | str | None = None, *, show: Show | None = None, home: Path | None = None) -> Run:
    """Train in this process until the end, and give the run; raises RunError if training fails."""
    asked_at = time.monotonic()
    with Ledger.open(home) as ledger:
        run = launch.launch(ledger, _with_workers(job, workers))
        launch.execute(ledger, run, show or _default_show(), asked_at)
    return Run(run, home)._checked()


def submit(job: Job, workers: int | str | None = None, *, home: Path | None = None) -> Run:
    """Begin training in a process of its own, and give the run at once."""
    with Ledger.open(home) as ledger:
        run = launch.launch(ledger, _with_workers(job, workers))
        launch.detach(ledger, run)
    return Run(run, home)


def _with_workers(job: Job, workers: int | str | None) -> Job:
    return job if workers is None else job.with_sets([f'crew.workers="{workers}"'])


def _default_show() -> Show:
    from holdfast.run.show import default_show

    return default_show()
