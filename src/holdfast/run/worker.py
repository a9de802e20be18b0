"""The main of a worker: build the job's model, say so, and step whenever the captain commits a view."""

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.planes.channel import Channel, Closed, Message, connect
from holdfast.run.place import RunPlace
from holdfast.run.view import View

if TYPE_CHECKING:
    from holdfast.run.stepper import Stepper, Tools

_TEXT_LIMIT = 6000


def main() -> None:
    """The engine passes the run's directory, the worker's number, the arena, and the checkpoint to begin from."""
    root, worker, descriptor, checkpoint = sys.argv[1:5]
    # A Ctrl-C in the user's terminal is the captain's business; a worker is told what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    place = RunPlace(Path(root))
    try:
        channel = connect(place.socket, place.key, {"kind": "hello", "worker": int(worker)})
        Worker(place, int(worker), channel).live(int(descriptor), checkpoint)
    except Closed:
        sys.exit(f"worker {worker}: the captain is gone, so this worker leaves")
    except Exception as error:
        traceback.print_exc()
        channel.send({"kind": "failed", "error": _sentence(error), "trace": traceback.format_exc()[-_TEXT_LIMIT:]})
        sys.exit(1)


class Worker:
    """One worker for the length of its life."""

    def __init__(self, place: RunPlace, worker: int, channel: Channel) -> None:
        self._place = place
        self._worker = worker
        self._channel = channel
        self._proposed = View(0, ())
        self._stepper: Stepper | None = None

    def live(self, descriptor: int, checkpoint: str) -> None:
        """Until the captain says quit."""
        tools = self._build(descriptor, checkpoint)
        while True:
            message = self._channel.receive()
            if message is None or message["kind"] == "quit":
                # Nothing is left to tidy up, and torch takes its time to take itself apart.
                sys.stdout.flush()
                os._exit(0)
            self._obey(message, tools)

    def _build(self, descriptor: int, checkpoint: str) -> "Tools":
        # torch comes in with these, and only now: the captain is to know early that this worker lives.
        from holdfast.planes.arena import Arena
        from holdfast.run.stepper import Tools
        from holdfast.run.work import build_work
        from holdfast.step.memory import Memory
        from holdfast.step.state import summary

        work = build_work(*self._place.load_job())
        layout = work.layout()
        self._place.write_layout(summary(layout))
        self._channel.send({"kind": "built", "digest": layout.digest})
        return Tools(work, Memory(Arena(descriptor, layout.size), layout), checkpoint)

    def _obey(self, message: Message, tools: "Tools") -> None:
        if message["kind"] == "propose":
            self._proposed = View.of(message["epoch"], message["members"])
            self._channel.send({"kind": "accepted", "epoch": self._proposed.epoch})
        elif message["kind"] == "commit" and message["epoch"] == self._proposed.epoch:
            self._step(tools)

    def _step(self, tools: "Tools") -> None:
        from holdfast.run.stepper import Stepper

        view = self._proposed
        if self._stepper is None:
            seat = dict(view.members)[self._worker]
            self._stepper = Stepper(tools, seat, self._channel.send, self._listen)
        outcome = self._stepper.run(view, self._worker)
        if outcome != "interrupted":
            self._channel.send({"kind": "done", "epoch": view.epoch, "stopped": outcome == "stopped"})

    def _listen(self) -> None:
        """Leave if there is no captain any more."""
        if not self._channel.is_open():
            raise Closed


def _sentence(error: Exception) -> str:
    text = str(error) if isinstance(error, HoldfastError) else f"{type(error).__name__}: {error}"
    return text[:_TEXT_LIMIT]


if __name__ == "__main__":
    main()
