"""The main of a worker: build the job's model, say so, and step whenever the captain commits a view."""

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.faults import expect, reached
from holdfast.planes.channel import Closed, Message
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
    """One worker for the length of its life."""

    def __init__(self, place: RunPlace, worker: int, descriptor: int) -> None:
        self._place = place
        self._worker = worker
        self._descriptor = descriptor
        self._proposed = View(0, ())
        self._stepper: Stepper | None = None
        self._told: dict[str, Any] = {}
        """What every captain must know: what was built, agreed to, come to, measured."""
        self._line = Line(place, descriptor, self._greeting)

    def live(self, checkpoint: str) -> None:
        """Until the captain says quit."""
        self._line.look()
        tools = self._build(checkpoint)
        while True:
            message = self._line.receive()
            if message["kind"] == "quit":
                # Nothing is left to tidy up, and torch takes its time to take itself apart.
                sys.stdout.flush()
                os._exit(0)
            self._obey(message, tools)

    def take_notice(self, *_: Any) -> None:
        """The system wants this worker to end soon; it will leave once it has finished what it is doing."""
        self._say("leaves")

    def fail(self, error: str, trace: str) -> None:
        """Tell why nobody could go on here, and wait to be let go."""
        self._say("failed", error=error, trace=trace)
        while self._line.receive()["kind"] != "quit":
            pass

    def _greeting(self) -> Message:
        return {"kind": "hello", "worker": self._worker, "told": list(self._told.values())}

    def _say(self, kind: str, **more: Any) -> None:
        self._told[kind] = {"kind": kind, **more}
        reached("message.due")
        self._line.send(self._told[kind])
        reached("message.sent")

    def _report(self, message: Message) -> None:
        self._place.write_metrics(message["step"], message["metrics"])
        self._say(**message)

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
        self._say("built", digest=layout.digest)
        return Tools(work, Memory(Arena(self._descriptor, layout.size), layout), checkpoint, self._place.changes)

    def _obey(self, message: Message, tools: "Tools") -> None:
        if message["kind"] == "propose":
            self._proposed = View.of(message["epoch"], message["members"], message["cuts"])
            self._say("accepted", epoch=self._proposed.epoch)
        elif message["kind"] == "commit" and message["epoch"] == self._proposed.epoch:
            self._step(tools)

    def _step(self, tools: "Tools") -> None:
        from holdfast.run.stepper import Stepper

        view = self._proposed
        self._line.rank = view.place_of(self._worker)
        if self._stepper is None:
            seat = dict(view.members)[self._worker]
            self._stepper = Stepper(tools, seat, self._report, self._line.look)
        self._told["running"] = {"kind": "running", "epoch": view.epoch}
        outcome = self._stepper.run(view, self._worker)
        del self._told["running"]
        if outcome != "interrupted":
            self._say("done", epoch=view.epoch, stopped=outcome == "stopped")


def _sentence(error: Exception) -> str:
    text = str(error) if isinstance(error, HoldfastError) else f"{type(error).__name__}: {error}"
    return text[:_SENTENCE_LIMIT]


if __name__ == "__main__":
    main()
