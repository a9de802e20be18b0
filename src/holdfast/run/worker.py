"""The main of a worker: build the job's model, say so, and step whenever the captain commits a view."""

import os
import signal
import sys
import time
import traceback
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from holdfast.errors import HoldfastError
from holdfast.faults import expect, reached
from holdfast.planes.channel import Closed
from holdfast.run import duty as d
from holdfast.run.line import Line
from holdfast.run.place import RunPlace
from holdfast.run.view import View

if TYPE_CHECKING:
    from holdfast.run.stepper import Stepper, Tools

_SENTENCE_LIMIT, _TRACE_LIMIT = 2000, 6000
"""Characters. Whatever they are, both together fit into a message."""


def main() -> None:
    """The engine passes the run's directory, the worker's number, the arena, and the checkpoint to begin from."""
    root, worker, descriptor, checkpoint = sys.argv[1:5]
    # A Ctrl-C in the user's terminal is the captain's business; a worker is told what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    place = RunPlace(Path(root))
    expect(place.root, int(worker))
    living = Worker(place, int(worker), int(descriptor))
    signal.signal(signal.SIGTERM, living.take_notice)
    try:
        living.live(checkpoint)
    except Closed as error:
        sys.exit(f"worker {worker}: {error}, so this worker leaves")
    except Exception as error:
        traceback.print_exc()
        living.fail(_sentence(error), traceback.format_exc()[-_TRACE_LIMIT:])


class Worker:
    """One worker for the length of its life: what its duty decides, it does."""

    def __init__(self, place: RunPlace, worker: int, descriptor: int) -> None:
        self._place = place
        self._worker = worker
        self._descriptor = descriptor
        self._duty = d.Duty(worker)
        self._line = Line(place, descriptor)
        self._stepper: Stepper | None = None
        self._committed: View | None = None
        """A view under which it is to step."""
        self._events: deque[d.Event] = deque()
        self._is_deciding = False

    def live(self, checkpoint: str) -> NoReturn:
        """Until the captain says quit."""
        self._look()
        tools = self._build(checkpoint)
        while True:
            self._step(self._next_view(), tools)

    def take_notice(self, *_: Any) -> None:
        """The system wants this worker to end soon; it will leave once it has finished what it is doing."""
        self._decide(d.Said({"kind": "leaves"}))

    def fail(self, error: str, trace: str) -> NoReturn:
        """Tell why nobody could go on here, and wait to be let go."""
        self._decide(d.Said({"kind": "failed", "error": error, "trace": trace}))
        while True:
            self._next_view()

    def _next_view(self) -> View:
        while self._committed is None:
            self._look(may_wait=True)
            self._line.require_captain()
        view, self._committed = self._committed, None
        return view

    def _look(self, may_wait: bool = False) -> None:
        """Hear what the captain says, and that there is one. Called now and then while it steps, too."""
        if not self._line.is_open:
            self._decide(d.Cut())
        self._decide(d.Noticed(self._line.newest_term))
        while self._committed is None and (message := self._line.receive(may_wait)) is not None:
            may_wait = False
            self._decide(d.Noticed(self._line.newest_term))
            self._decide(d.Heard(message))
            if message["kind"] == "welcome":
                reached("captain.found")
        self._decide(d.Tick())
        self._line.look_after(self._duty.known)

    def _decide(self, event: d.Event) -> None:
        self._events.append(event)
        if self._is_deciding:
            return  # a signal came in the middle of it
        self._is_deciding = True
        try:
            while self._events:
                for action in self._duty.handle(self._events.popleft(), time.monotonic()):
                    self._carry_out(action)
        finally:
            self._is_deciding = False

    def _carry_out(self, action: d.Action) -> None:
        match action:
            case d.Greet(message):
                self._line.greet(message)
                if not self._line.is_open:
                    self._events.append(d.Cut())
            case d.Send(message):
                reached("message.due")
                self._line.send(message)
                reached("message.sent")
            case d.Work(view):
                self._committed = view
            case d.Leave():
                # Nothing is left to tidy up, and torch takes its time to take itself apart.
                sys.stdout.flush()
                os._exit(0)

    def _report(self, measured: dict[str, Any]) -> None:
        self._place.write_metrics(measured["step"], measured["metrics"])
        self._decide(d.Said({"kind": "evaluated", "step": measured["step"]}))

    def _build(self, checkpoint: str) -> "Tools":
        # torch comes in with these, and only now: the captain is to know early that this worker lives.
        from holdfast.planes.arena import Arena
        from holdfast.run.stepper import Tools
        from holdfast.run.work import build_work
        from holdfast.step import rules
        from holdfast.step.memory import Memory
        from holdfast.step.state import summary

        work = build_work(*self._place.load_job())
        layout = work.layout()
        rules.prepare(work.job.optimizer)
        self._place.write_layout(summary(layout))
        reached("worker.built")
        self._decide(d.Said({"kind": "built", "digest": layout.digest}))
        return Tools(work, Memory(Arena(self._descriptor, layout.size), layout), checkpoint, self._place.changes)

    def _step(self, view: View, tools: "Tools") -> None:
        from holdfast.run.stepper import Stepper

        self._line.rank = view.ranks[self._worker]
        if self._stepper is None:
            seat = dict(view.members)[self._worker]
            self._stepper = Stepper(tools, seat, self._report, self._look)
        self._decide(d.Rested(self._stepper.run(view, self._worker)))


def _sentence(error: Exception) -> str:
    text = str(error) if isinstance(error, HoldfastError) else f"{type(error).__name__}: {error}"
    return text[:_SENTENCE_LIMIT]


if __name__ == "__main__":
    main()
