"""The crew: workers' processes and channels. It tells the captain what happens and does what the captain decides."""

import contextlib
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holdfast.engines.base import Engine, Process
from holdfast.errors import HoldfastError
from holdfast.planes.arena import Arena, require_memory
from holdfast.planes.channel import Channel, Closed, Listener, Malformed, Message
from holdfast.run import captain as c
from holdfast.run.gauges import Gauges
from holdfast.run.place import RunPlace
from holdfast.run.view import View

_FAREWELL_S = 5.0


@dataclass
class Hand:
    """A worker as the crew knows it: its process, and its channel once it has said hello."""

    process: Process
    channel: Channel | None = None


@dataclass(frozen=True)
class Ears:
    """Who is told what the crew sees."""

    note: Callable[[c.Note, str], None]
    """Something for the time line, with a traceback or nothing."""
    measured: Callable[[int, dict[str, Any]], None]
    """The metrics of the model after so many steps."""
    laid_out: Callable[[Gauges], None]
    """The size of things is known; called once, before the first view."""


class Crew:
    """Runs until the captain ends it. Owned by one thread, which calls `turn` again and again, then `dismiss`."""

    def __init__(self, place: RunPlace, captain: c.Captain, engine: Engine, arena: int, ears: Ears) -> None:
        self.ending: c.End | None = None
        self.gauges: Gauges | None = None
        self.views = 0
        self._place = place
        self._captain = captain
        self._engine = engine
        self._arena = arena
        self._ears = ears
        self._hands: dict[int, Hand] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = Listener(place.socket, place.key)
        self._selector.register(self._listener, selectors.EVENT_READ, self._greet)

    def begin(self, threads: int, checkpoint: str) -> None:
        """Start the first workers; a run goes on from the checkpoint, if one is named."""
        self._threads = threads
        self._checkpoint = checkpoint
        self._decide(c.Begin())

    @property
    def view(self) -> View:
        return self._captain.view

    def turn(self, timeout_s: float) -> None:
        """Wait for something to happen, at most so long, and see to it."""
        for key, _ in self._selector.select(timeout_s):
            key.data()
        for worker, cause in self._stuck():
            self._decide(c.Hung(worker, cause))
        self._decide(c.Tick())

    def order_stop(self) -> None:
        """Let the crew finish its step and stop there; before anything was begun, stop at once."""
        if self.gauges is not None and self.gauges.is_prepared:
            self.gauges.wish_stop()
        else:
            self.ending = c.End("stopped")

    def dismiss(self, at_once: bool = False) -> None:
        """Let every worker go, and make sure that it is gone."""
        if self.gauges is not None:
            self.gauges.epoch = self._captain.view.epoch + 1
        for hand in self._hands.values():
            self._send(hand, {"kind": "quit"})
        deadline = time.monotonic() + (0.0 if at_once else _FAREWELL_S)
        for hand in self._hands.values():
            _await_end(hand.process, deadline)
            hand.process.cause()
            hand.process.close()
            if hand.channel:
                hand.channel.close()
        self._listener.close()
        self._selector.close()

    def _decide(self, event: c.Event) -> None:
        for action in self._captain.handle(event, time.monotonic()):
            self._carry_out(action)

    def _carry_out(self, action: c.Action) -> None:
        match action:
            case c.Spawn(worker):
                self._start(worker)
            case c.Propose(view):
                self._announce(view)
            case c.Commit(view):
                self.views += 1
                self._tell(view, {"kind": "commit", "epoch": view.epoch})
                self._ears.note(_joined(view), "")
            case c.Kill(worker):
                self._hands[worker].process.kill()
            case c.Note():
                self._ears.note(action, "")
            case c.End():
                self.ending = action

    def _start(self, worker: int) -> None:
        arguments = [str(self._place.root), str(worker), str(self._arena), self._checkpoint]
        log = self._place.log_of(worker)
        process = self._engine.start(arguments, log, self._threads, [self._arena])
        self._hands[worker] = Hand(process)
        self._selector.register(process, selectors.EVENT_READ, lambda: self._bury(worker))
        self._ears.note(c.Note("started", f"worker {worker} started (pid {process.pid})", worker), "")

    def _announce(self, view: View) -> None:
        assert self.gauges is not None
        self.gauges.epoch = view.epoch
        members = [list(pair) for pair in view.members]
        self._tell(view, {"kind": "propose", "epoch": view.epoch, "members": members})

    def _tell(self, view: View, message: Message) -> None:
        for worker, _ in view.members:
            if worker in self._hands:
                self._send(self._hands[worker], message)

    def _send(self, hand: Hand, message: Message) -> None:
        if hand.channel is not None:
            # If the channel is closed its process is ending, and the selector will say so.
            with contextlib.suppress(Closed):
                hand.channel.send(message)

    def _greet(self) -> None:
        greeted = self._listener.accept()
        if greeted is None:
            return
        channel, greeting = greeted
        worker = greeting.get("worker")
        if greeting["kind"] == "hello" and worker in self._hands and self._hands[worker].channel is None:
            self._hands[worker].channel = channel
            self._selector.register(channel, selectors.EVENT_READ, lambda: self._listen(worker, channel))
            return
        if greeting["kind"] == "stop":
            self.order_stop()
            channel.send({"kind": "ok"})
        channel.close()

    def _listen(self, worker: int, channel: Channel) -> None:
        try:
            message = channel.receive(timeout_s=0.0)
            if message is not None:
                self._hear(worker, message)
        except (Closed, Malformed, KeyError):
            self._selector.unregister(channel)
            # Without a channel it cannot be led; most often its process is about to end anyway.
            self._hands[worker].process.kill()

    def _hear(self, worker: int, message: Message) -> None:
        match message["kind"]:
            case "built":
                self._lay_out()
                self._decide(c.Built(worker, message["digest"]))
            case "accepted":
                self._decide(c.Accepted(worker, message["epoch"]))
            case "done":
                self._decide(c.Done(worker, message["epoch"], message["stopped"]))
            case "evaluated":
                self._ears.measured(message["step"], message["metrics"])
            case "failed":
                self._ears.note(c.Note("trace", f"worker {worker} failed", worker), message["trace"])
                self._decide(c.Failed(worker, message["error"]))

    def _lay_out(self) -> None:
        if self.gauges is not None:
            return
        layout = self._place.read_layout()
        workers = self._captain.terms.workers
        try:
            require_memory(layout["resident_bytes"] + workers * layout["slot_bytes"], "this job")
        except HoldfastError as error:
            self.ending = c.End("failed", str(error))
            raise
        self.gauges = Gauges(Arena(self._arena, layout["size"]), layout)
        self._ears.laid_out(self.gauges)

    def _bury(self, worker: int) -> None:
        hand = self._hands.pop(worker)
        self._selector.unregister(hand.process)
        if hand.channel is not None:
            self._last_words(worker, hand.channel)
        cause = hand.process.cause()
        hand.process.close()
        self._decide(c.Lost(worker, f"worker {worker} died: {cause}"))

    def _last_words(self, worker: int, channel: Channel) -> None:
        """What it said before it ended still counts."""
        try:
            while message := channel.receive(timeout_s=0.0):
                self._hear(worker, message)
        except (Closed, Malformed, KeyError):
            pass
        if channel in [key.fileobj for key in self._selector.get_map().values()]:
            self._selector.unregister(channel)
        channel.close()

    def _stuck(self) -> list[tuple[int, str]]:
        if self.gauges is None or not self._captain.committed:
            return []
        patience_s = self._captain.terms.patience_s
        stuck = self.gauges.stuck(self.view.members, patience_s, time.monotonic())
        return [
            (
                worker,
                f"worker {worker} made no progress for {patience_s:g} s (crew.patience_s), so it is killed",
            )
            for worker in stuck
        ]


def _joined(view: View) -> c.Note:
    names = ", ".join(str(worker) for worker, _ in view.members)
    return c.Note("view", f"view {view.epoch}: workers {names}")


def _await_end(process: Process, deadline: float) -> None:
    waiting = selectors.DefaultSelector()
    waiting.register(process, selectors.EVENT_READ)
    if not waiting.select(max(0.0, deadline - time.monotonic())):
        process.kill()
    waiting.close()
