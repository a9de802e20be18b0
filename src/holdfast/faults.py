"""Places to die at: `HOLDFAST_FAULT` strikes a process of a run at an instruction that matters for a commit.

It is killed, stopped, or given notice (SIGTERM). Tests do it with real processes. Without the variable every place is a
call of a function that does nothing.

    HOLDFAST_FAULT="piece.marked@1:3=stop,standing.written"

Worker 1 stops itself when it comes to `piece.marked` for the third time, and whoever comes to `standing.written` first
is killed. A fault happens once in a run, also if that is resumed; one that is written twice happens twice.
"""

import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from holdfast.errors import HoldfastError

POINTS = {
    # A worker, in a step:
    "replica.begun": "gathering: a worker has said which replica it computes",
    "partial.withdrawn": "gathering: a partial that is about to change is in the table no more",
    "partial.computed": "gathering: the partial is whole, and not in the table yet",
    "partial.published": "gathering: it is in the table, and whoever comes after can use it",
    "orders.given": "what is special about the step is fixed, a snapshot or a stop",
    "piece.copied": "apply: a piece is in the undo log or the shadow, and not marked yet",
    "piece.unmarked": "apply: how far the log goes is written, and the mark is still that of the piece before",
    "piece.marked": "apply: whoever finds the mark must mend the piece",
    "piece.updated": "apply: all of the piece is through the step, and not counted yet",
    "piece.done": "apply: it is counted, and its mark still stands",
    "step.noted": "the step's row of the history is written",
    "buffers.prepared": "the next buffers lie beside the old ones",
    "buffers.adopted": "they have replaced them, which is not counted yet",
    "step.marked": "the step is marked as committed, and its snapshot is not full yet",
    "step.committed": "all that belongs to a committed step is written",
    "chunk.evaluated": "a chunk of the evaluation is computed, and not counted yet",
    "metrics.reported": "the leader has told the metrics, and not noted that it did",
    "meeting.reached": "a worker is about to wait for the others",
    "meeting.over": "what it waited for is there",
    "change.fixed": "it is on disk which step is the first with a change of the job, and nothing depends on it yet",
    # Whoever works for a run:
    "file.drafted": "a file of the run's directory is written, under a name that nobody reads",
    "worker.built": "a worker has model, data and memory",
    "message.due": "a worker knows what it must say, and has not said it",
    "message.sent": "it has said so",
    "section.restored": "a section of the checkpoint has been read into memory",
    "state.prepared": "the state of the first step is in memory",
    "stretch.restored": "mending: the torn stretch has its old values again",
    "piece.mended": "mending: the piece is whole, and its mark still stands",
    "state.mended": "mending: all is whole, and the others do not know yet",
    "captain.missed": "a worker has found that its captain is gone",
    "captain.called": "a worker has started a process that will ask for the lease",
    "captain.found": "a worker has heard from the next captain",
    # Whoever executes a run:
    "change.drafted": "a change of the job is on disk, under a name that nobody reads",
    "run.created": "the ledger knows the run, and its directory does not exist",
    "run.prepared": "all is there that the run's processes need",
    "lease.taken": "a process may call itself captain, and nobody knows",
    "lease.renewed": "it may do so for longer",
    "lease.due": "the run is over, and the lease not given back",
    "run.begun": "the ledger has been told who is captain",
    "standing.read": "the next captain knows what the one before left",
    "standing.written": "what a successor must know is there, and nothing of it is done yet",
    "worker.started": "a worker's process has begun, and nobody knows which it is",
    "worker.greeted": "a worker has come to this captain, and has no answer yet",
    "worker.buried": "a worker's end is seen, and nothing decided about it",
    "view.announced": "the epoch of a view stands in shared memory, and nobody was asked",
    "view.proposed": "all are asked to agree to a view",
    "view.agreed": "all have agreed, and nobody knows",
    "view.committed": "the view's members are told to go on",
    "worker.released": "a worker that leaves has been let go",
    "worker.killed": "a worker has been killed by its captain",
    "crew.ended": "the last step is done, and the workers have not been dismissed",
    "crew.dismissed": "no worker is left, and the last state is in memory only",
    "standing.forgotten": "there is nothing to take over any more",
    "state.saved": "the last state is on disk, and the ledger does not say that the run is over",
    "run.recorded": "the ledger says so",
    "ledger.noted": "something that was to be noted is in the ledger",
    # Checkpoints:
    "shadow.seen": "there is a snapshot to be saved",
    "draft.begun": "the directory of a checkpoint exists, under a name that nobody reads",
    "chunk.written": "a part of its data is written",
    "data.written": "all of its data are on disk",
    "manifest.written": "its manifest is",
    "marker.written": "its marker is, so it is whole, and not in its place",
    "checkpoint.aside": "it has taken the place of an older one of the same step, whose files are there",
    "checkpoint.placed": "it is in its place",
    "checkpoint.saved": "the ledger is being told, and older ones are still there",
    "checkpoint.going": "an older one is not in its place any more, and its files are there",
    "shadow.saved": "the shadow is not needed any more, and not yet given back",
    "shadow.released": "the shadow may be filled again",
}
"""All places, each with what has just happened there."""

_ACTIONS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "notice": signal.SIGTERM}
_FORM = re.compile(r"([a-z.]+)(?:@(\d+))?(?::([1-9]\d*))?(?:=(\w+))?")


@dataclass(frozen=True)
class Fault:
    """What is to happen: to whom, where, and at the how many-th passage of that process."""

    text: str
    point: str
    worker: int | None
    passage: int
    signal: signal.Signals


@dataclass
class Faults:
    """All that is to happen in the processes of a run. One object per process."""

    faults: list[Fault]
    _passages: dict[str, int] = field(default_factory=dict)
    _run: Path | None = None
    _worker: int | None = None

    def expect(self, run: Path, worker: int | None = None) -> None:
        """From now on this process belongs to the run with this directory."""
        self._run, self._worker = run, worker

    def reached(self, point: str) -> None:
        passage = self._passages[point] = self._passages.get(point, 0) + 1
        for number, fault in enumerate(self.faults):
            is_meant = fault.worker is None or fault.worker == self._worker
            if (fault.point, fault.passage, is_meant) == (point, passage, True) and self._is_first(number, fault):
                os.kill(os.getpid(), fault.signal)

    def _is_first(self, number: int, fault: Fault) -> bool:
        """Whether nobody has done it yet in this run; who has done it stands in a file of the run's directory."""
        if self._run is None:
            return False
        self._run.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with (self._run / f"fault-{number}-{fault.text}").open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return False
        return True


def parse(text: str) -> list[Fault]:
    """What HOLDFAST_FAULT asks for; raises HoldfastError if it cannot be understood."""
    return [_parse(part.strip()) for part in text.split(",")]


def _parse(text: str) -> Fault:
    found = _FORM.fullmatch(text)
    if found is None:
        raise HoldfastError(f"HOLDFAST_FAULT: `{text}` is not of the form POINT[@WORKER][:PASSAGE][=kill|stop|notice]")
    point, worker, passage, action = found.groups(default="")
    if point not in POINTS:
        near = get_close_matches(point, POINTS, n=1)
        advice = f"did you mean `{near[0]}`?" if near else f"all points are listed in {__file__}"
        raise HoldfastError(f"HOLDFAST_FAULT: there is no point `{point}`; {advice}")
    if action and action not in _ACTIONS:
        raise HoldfastError(f"HOLDFAST_FAULT: `{action}` is nothing that can happen; use kill, stop or notice")
    number = int(worker) if worker else None
    return Fault(text, point, number, int(passage or 1), _ACTIONS[action or "kill"])


def _go_on(point: str) -> None:
    """What `reached` is when nothing is to happen."""


def _expect_nothing(run: Path, worker: int | None = None) -> None:
    """What `expect` is when nothing is to happen."""


ASKED = os.environ.get("HOLDFAST_FAULT", "")
_faults = Faults(parse(ASKED)) if ASKED else None
reached: Callable[[str], None] = _faults.reached if _faults else _go_on
"""A process has come to a place at which it may be made to die, named by a literal."""
expect = _faults.expect if _faults else _expect_nothing
"""Said by a process as soon as it knows which run it belongs to; nothing happens before."""
