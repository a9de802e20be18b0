"""One execution of a run, from its job to its result: the crew, the clerk and the ledger brought together."""

import os
import time
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from holdfast.engines.base import Engine
from holdfast.engines.local import LocalEngine
from holdfast.errors import HoldfastError, RunError
from holdfast.faults import reached
from holdfast.job import Job
from holdfast.ledger import Ledger, Status
from holdfast.ledger.curves import CurveWriter
from holdfast.planes.arena import PAGE, create
from holdfast.run.captain import Captain, Terms
from holdfast.run.clerk import Clerk
from holdfast.run.crew import Crew, Ears
from holdfast.run.events import End, Note
from holdfast.run.gauges import Gauges, digests
from holdfast.run.lease import RunLease, Superseded
from holdfast.run.place import RunPlace
from holdfast.run.progress import Progress, Snapshot, speed_of
from holdfast.run.record import Record
from holdfast.run.stalls import Stalls

_TURN_S = 0.1
_STATUS: dict[str, Status] = {"paused": "paused", "unpaused": "running"}


class Show(Protocol):
    """Who looks on: first `begin`, at last `end`, whatever comes between them."""

    def begin(self, run: str, job: Job) -> None: ...

    def note(self, note: Note, trace: str, step: int) -> None: ...

    def progress(self, snapshot: Snapshot) -> None: ...

    def measured(self, step: int, metrics: dict[str, Any]) -> None: ...

    def end(self) -> None: ...


@dataclass(frozen=True)
class Start:
    """From where a run goes on: its id, the checkpoint to begin from, and when the user asked for it.

    With an arena, which is a descriptor, a crew that lost its captain is led on.
    """

    run: str
    checkpoint: str = ""
    asked_at: float | None = None
    arena: int | None = None
    until: int = 0
    """Stop after so many steps, if not 0."""


class Session:
    """Executes a run in this process: `execute` once, from one thread; `interrupt` may come from a signal."""

    def __init__(self, ledger: Ledger, job: Job, start: Start, show: Show, engine: Engine | None = None) -> None:
        self.place = RunPlace(ledger.home / "runs" / start.run)
        self._ledger = ledger
        self._job = job
        self._start = start
        self._show = show
        self._engine = engine or LocalEngine()
        self._interrupts = 0
        self._gauges: Gauges | None = None
        self._progress: Progress | None = None
        self._stalls: Stalls | None = None
        self._noted: set[int] = set()
        """The steps whose metrics are in the ledger."""

    def interrupt(self) -> None:
        """The first time: finish the step, save, and stop. The second time: stop at once."""
        self._interrupts += 1

    def execute(self) -> dict[str, Any]:
        """The result of the run, whatever its status. Leaves no process behind in any case."""
        lease = RunLease(self._ledger, self._start.run)
        self._term = lease.term
        self._told_changes = sum(event.kind == "changed" for event in self._ledger.events(self._start.run))
        curves = CurveWriter(self.place.curves)
        self._record = Record(self._ledger, self._start.run, curves)
        meta = {"fingerprint": self._job.fingerprint, "run": self._start.run}
        self._clerk = Clerk(self.place, self._job.checkpoint, meta, self._record.saved, self._record.not_saved)
        descriptor = self._arena()
        try:
            return self._run(descriptor, lease)
        finally:
            self._record.close()
            os.close(descriptor)
            curves.close()
            reached("lease.due")
            lease.release()

    def _arena(self) -> int:
        if self._start.arena is not None:
            return self._start.arena
        descriptor = create(self._start.run)
        os.ftruncate(descriptor, PAGE)
        self.place.forget_standings()
        return descriptor

    def _run(self, descriptor: int, lease: RunLease) -> dict[str, Any]:
        ears = Ears(self._note, self._catch_up, self._laid_out)
        standing = self._standing()
        crew = Crew(self.place, self._captain(standing), self._engine, descriptor, ears)
        try:
            self._begin(crew, standing)
            ending = self._watch(crew, lease)
            reached("crew.ended")
        except Superseded:
            crew.abandon()
            raise
        except HoldfastError as error:
            ending = End("failed", str(error))
        except BaseException:
            crew.dismiss(at_once=True)
            raise
        crew.dismiss(at_once=self._interrupts > 1)
        reached("crew.dismissed")
        self.place.forget_standings()
        reached("standing.forgotten")
        return self._close(crew, ending)

    def _standing(self) -> dict[str, Any] | None:
        """Of the captain before this one. There may be none: of several who want to follow, one may be too late."""
        if self._start.arena is None:
            return None
        standing = self.place.read_standing()
        if standing is None:
            raise RunError(f"run {self._start.run} is over, so nobody has to lead it on")
        return standing

    def _captain(self, standing: dict[str, Any] | None) -> Captain:
        spec = self._job.crew
        seats = self._job.train.replicas + 2
        batch = self._job.train.batch
        terms = Terms(spec.workers.start, spec.workers.min, spec.restarts, seats, spec.patience_s, batch, spec.grace_s)
        if standing is None:
            return Captain(terms, self._term)
        known = {key: value for key, value in standing.items() if key not in Crew.STANDING}
        return Captain.successor(terms, self._term, known)

    def _begin(self, crew: Crew, standing: dict[str, Any] | None) -> None:
        self._noted = {event.step or 0 for event in self._ledger.events(self._start.run) if event.kind == "measured"}
        self._catch_up()
        self._record.update(status="running", pid=os.getpid())
        reached("run.begun")
        threads = self._job.train.threads
        if standing is None:
            self._record.update(started=time.time())
            crew.begin(threads, self._start.checkpoint)
        else:
            self._note(Note("captain", f"process {os.getpid()} is the captain now, the one before is gone"), "")
            reached("standing.read")
            crew.take_over(threads, standing)

    def _watch(self, crew: Crew, lease: RunLease) -> End:
        ordered = False
        while crew.ending is None and self._interrupts < 2:
            if self._interrupts and not ordered:
                crew.order_stop()
                ordered = True
            crew.beat()
            now = time.monotonic()
            if lease.renew(now):
                crew.turn(_TURN_S)
            else:
                # Another may be captain by now, for all that is known. Training goes on; who trains must wait.
                time.sleep(_TURN_S)
            if self._gauges is not None and self._progress is not None:
                self._tell_changes(self._gauges)
                self._tell_stalls()
                self._clerk.look(self._gauges, now)
                self._record.points(self._gauges, now)
                self._show.progress(self._progress.read(crew.view, now))
        return crew.ending or End("stopped")

    def _close(self, crew: Crew, ending: End) -> dict[str, Any]:
        """Save what there is, and put the result on record."""
        gauges = self._gauges
        self._catch_up()
        if gauges is not None and gauges.is_prepared:
            self._tell_changes(gauges)
            self._record.points(gauges, float("inf"))
            ending = self._save(gauges, ending)
        self._record.close()
        if ending.status == "failed":
            ending = End("failed", self._with_last_checkpoint(ending.error or ""))
        result = self._result(crew, ending, gauges)
        self._ledger.update_run(
            self._start.run,
            status=ending.status,
            ended=time.time(),
            steps_done=result["steps"],
            result=result,
            error=ending.error,
            pid=None,
        )
        reached("run.recorded")
        return result

    def _save(self, gauges: Gauges, ending: End) -> End:
        """Write the last checkpoint; a run whose model cannot be kept has failed."""
        self._clerk.settle()
        if ending.status == "failed" or self._interrupts > 1 or not gauges.committed:
            return ending
        try:
            self._clerk.save_committed(gauges)
        except HoldfastError as error:
            return End("failed", str(error))
        reached("state.saved")
        return ending

    def _result(self, crew: Crew, ending: End, gauges: Gauges | None) -> dict[str, Any]:
        result: dict[str, Any] = {
            "run": self._start.run,
            "status": ending.status,
            "error": ending.error,
            "fingerprint": self._job.fingerprint,
            "steps": 0,
            "samples": 0,
            "metrics": self._metrics(gauges),
            "views": crew.views,
            "workers": self._job.crew.workers.start,
            "replicas": self._job.train.replicas,
            "changes": [asdict(change) for change in self.place.changes.all() if change.from_step is not None],
        }
        if gauges is not None and gauges.is_prepared:
            result |= self._outcome(gauges, ending.status)
        return result

    def _outcome(self, gauges: Gauges, status: str) -> dict[str, Any]:
        history = gauges.rows(0, gauges.committed)
        rows = history[gauges.began_at :]  # what came before was timed by another clock, if at all
        speed = speed_of(rows)
        whole = status != "failed" and self._interrupts < 2
        model, state = digests(gauges.sections(gauges.committed, False)) if whole else (None, None)
        seconds = rows[-1].time - rows[0].time if rows else 0.0
        return {
            "steps": gauges.committed,
            "samples": sum(int(row.samples) for row in history),
            "seconds": seconds,
            "samples_per_s": speed.samples / seconds if seconds else None,
            "steady_samples_per_s": speed.samples_per_s,
            "longest_step_s": speed.longest_step_s,
            "median_step_s": speed.median_step_s,
            "first_step_s": rows[0].time - self._start.asked_at if rows and self._start.asked_at is not None else None,
            "loss": history[-1].loss if history else None,
            "model_sha256": model,
            "state_sha256": state,
        }

    def _metrics(self, gauges: Gauges | None) -> dict[str, Any]:
        """The last that are of the committed state, or of one before it."""
        known = [step for step in self.place.measured_steps() if gauges is not None and step <= gauges.committed]
        return self.place.read_metrics(known[-1]) if known else {}

    def _with_last_checkpoint(self, error: str) -> str:
        saved = self._ledger.checkpoints(self._start.run)
        if not saved:
            return f"{error}; no checkpoint had been saved"
        return f"{error}; the last good checkpoint is that of step {saved[0].step}, {saved[0].path}"

    def _note(self, note: Note, trace: str) -> None:
        self._tell(note, self._gauges.committed if self._gauges is not None else 0, trace)
        if note.kind in _STATUS:
            self._record.update(status=_STATUS[note.kind])

    def _tell(self, note: Note, step: int, trace: str = "") -> None:
        self._record.note(note, step, trace)
        self._show.note(note, trace, step)

    def _tell_changes(self, gauges: Gauges) -> None:
        """Put on record what has begun to hold since the last time."""
        if gauges.changes <= self._told_changes:
            return
        for change in self.place.changes.all()[self._told_changes : gauges.changes]:
            self._tell(Note("changed", f"{change} from step {change.from_step} on"), change.from_step or 0)
        self._told_changes = gauges.changes

    def _tell_stalls(self) -> None:
        told = self._stalls.look() if self._stalls is not None else None
        if told is not None:
            step, note = told
            self._tell(note, step)

    def _catch_up(self) -> None:
        """Note what the workers have measured, also while nobody heard them."""
        for step in self.place.measured_steps():
            if step not in self._noted:
                self._noted.add(step)
                metrics = self.place.read_metrics(step)
                self._record.measured(step, metrics)
                self._show.measured(step, metrics)

    def _laid_out(self, gauges: Gauges) -> None:
        self._gauges = gauges
        if self._start.until:
            gauges.stop_at(self._start.until)
        steps = gauges.layout["steps"]
        self._stalls = Stalls(gauges, self._job.train.replicas)
        self._progress = Progress(gauges, steps, time.monotonic())
        self._record.update(steps_total=steps)
