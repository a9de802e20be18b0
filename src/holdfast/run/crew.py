"""The crew: workers' processes and channels. It tells the captain what happens and does what the captain decides."""

import contextlib
import math
import os
import selectors
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.engines.base import KILLED, Activity, Engine, Process
from holdfast.faults import reached
from holdfast.planes.arena import Arena, available_memory, too_little
from holdfast.planes.channel import Channel, Closed, Deaf, Malformed, Message, Peer
from holdfast.planes.listener import Listener
from holdfast.run import events as e
from holdfast.run.captain import Captain
from holdfast.run.gauges import Gauges, speeds
from holdfast.run.lease import here
from holdfast.run.letters import event_of, farewell, letters_of
from holdfast.run.messages import FROM_WORKER, GREETINGS, checked
from holdfast.run.place import RunPlace
from holdfast.run.refusals import Refusals
from holdfast.run.view import View
from holdfast.run.wishes import Means, wish

_FAREWELL_S = 5.0
_IDLE_S = 0.01
_MEASURE_S = 5.0


@dataclass
class Hand:
    """A worker as the crew knows it: its process, and its channel once it has said hello."""

    process: Process
    channel: Channel | None = None


@dataclass(frozen=True)
class Ears:
    """Who is told what the crew sees."""

    note: Callable[[e.Note, str], None]
    """Something for the time line, with a traceback or nothing."""
    measured: Callable[[], None]
    """There are metrics that were not there before."""
    laid_out: Callable[[Gauges], None]
    """The size of things is known; called once, before the first view."""


class Crew:
    """Runs until the captain ends it. Owned by one thread, which calls `turn` again and again, then `dismiss`."""

    STANDING = ("views", "processes", "where", "arena", "checkpoint")
    """What it adds to the captain's standing."""

    def __init__(self, place: RunPlace, captain: Captain, engine: Engine, arena: int, ears: Ears) -> None:
        self.ending: e.End | None = None
        self.gauges: Gauges | None = None
        self.views = 0
        self._place = place
        self._captain = captain
        self._engine = engine
        self._arena = arena
        self._ears = ears
        self._hands: dict[int, Hand] = {}
        self._used: dict[int, tuple[float, float]] = {}
        self._measured_at = 0.0
        self._worked: tuple[int, list[tuple[int, float]]] = (0, [])
        self._selector = selectors.DefaultSelector()
        self._refusals = Refusals()
        self._listener = Listener(place.socket, place.key, self._refuse)
        self._selector.register(self._listener, selectors.EVENT_READ, self._greet)

    def begin(self, threads: int, checkpoint: str) -> None:
        """Start the first workers; a run goes on from the checkpoint, if one is named."""
        self._threads = threads
        self._checkpoint = checkpoint
        self._decide(e.Begin())

    def take_over(self, threads: int, standing: dict[str, Any]) -> None:
        """Go on with the workers that another captain left; they will find the way here by themselves."""
        self._threads = threads
        self._checkpoint = standing["checkpoint"]
        self.views = standing["views"]
        if self._captain.digest is not None:
            self._lay_out()
        for worker in list(self._captain.members):
            known = standing["processes"].get(str(worker))
            process = self._engine.adopt(*known) if known else None
            if process is not None:
                self._watch(worker, process)
            else:
                self._decide(e.Lost(worker, f"worker {worker} died: its process ended while there was no captain"))
        self._decide(e.TakeOver((self.gauges.newest_epoch or 0) if self.gauges is not None else 0))

    def beat(self) -> None:
        """Let workers see that their captain is there; called often."""
        if self.gauges is not None:
            self.gauges.beat()

    @property
    def view(self) -> View:
        return self._captain.view

    def turn(self, timeout_s: float) -> None:
        """Wait for something to happen, at most so long, and see to it."""
        for key, _ in self._selector.select(timeout_s):
            key.data()
        now = time.monotonic()
        self._listener.turn_away_late(now)
        self._tell_refused(self._refusals.due(now))
        self._decide(e.Tick())
        for worker, cause in [*self._stuck(), *self._idle()]:
            self._decide(e.Hung(worker, cause))
        self._measure()

    def order_stop(self) -> None:
        """Let the crew finish its step and stop there; before anything was begun, stop at once."""
        if self.gauges is not None and self.gauges.is_prepared:
            self.gauges.wish_stop()
            self._decide(e.Unpause())
        else:
            self.ending = e.End("stopped")

    def _order_change(self, assignments: Sequence[str]) -> int:
        """It holds from the step on that the leader says; a run that is still to begin begins with it."""
        number = self._place.changes.add(self._place.job(), assignments)
        if self.gauges is not None:
            self.gauges.wish_changes(number)
        return number

    def abandon(self) -> None:
        """Another captain leads these workers now."""
        for hand in self._hands.values():
            hand.process.close()
            if hand.channel:
                hand.channel.close()
        self._listener.close()
        self._selector.close()

    def dismiss(self, at_once: bool = False) -> None:
        """Let every worker go, and make sure that it is gone."""
        if self.gauges is not None:
            self.gauges.announce(self._captain.term, self._captain.view.epoch + 1)
        for worker, hand in self._hands.items():
            self._send(hand, farewell(self._captain.term))
            if worker in self._captain.members and not self._captain.members[worker].built:
                hand.process.kill()  # it would hear of it only once it has built a model for nobody
        deadline = time.monotonic() + (0.0 if at_once else _FAREWELL_S)
        for hand in self._hands.values():
            _await_end(hand.process, deadline)
            hand.process.cause()
        self._tell_refused(self._refusals.due(math.inf))
        self.abandon()

    def _decide(self, event: e.Event) -> None:
        actions = self._captain.handle(event, time.monotonic())
        decides = any(not isinstance(action, e.Note | e.Confirm | e.Remind) for action in actions)
        if decides or isinstance(event, e.Built):
            self._remember()
        for action in actions:
            self._carry_out(action)

    def _remember(self) -> None:
        """What is about to be done is written down first, for the next captain."""
        processes = {str(worker): [hand.process.pid, hand.process.born] for worker, hand in self._hands.items()}
        own = {"views": self.views, "processes": processes, "where": here()}
        memory = {"arena": self._arena, "checkpoint": self._checkpoint}
        self._place.write_standing(self._captain.term, {**self._captain.standing(), **own, **memory})
        reached("standing.written")

    def _carry_out(self, action: e.Action) -> None:
        match action:
            case e.Spawn(worker):
                self._start(worker)
            case e.Propose(view):
                assert self.gauges is not None
                self.gauges.announce(self._captain.term, view.epoch)
                reached("view.announced")
            case e.Commit(view):
                self.views += 1
                reached("view.agreed")
            case e.Kill(worker):
                self._hands[worker].process.kill()
                reached("worker.killed")
            case e.Note():
                self._ears.note(action, "")
            case e.End():
                self.ending = action
        for workers, message in letters_of(action, self._captain.term):
            self._tell(workers, message)
        match action:
            case e.Propose():
                reached("view.proposed")
            case e.Commit(view):
                reached("view.committed")
                if view.members:
                    self._ears.note(_joined(view, self.views), "")
            case e.Release():
                reached("worker.released")

    def _start(self, worker: int) -> None:
        arguments = [str(self._place.root), str(worker), str(self._arena), self._checkpoint]
        log = self._place.log_of(worker)
        process = self._engine.start(arguments, log, self._threads, [self._arena])
        reached("worker.started")
        self._watch(worker, process)
        self._remember()
        self._ears.note(e.Note("started", f"worker {worker} started (pid {process.pid})", worker), "")

    def _watch(self, worker: int, process: Process) -> None:
        self._hands[worker] = Hand(process)
        self._selector.register(process, selectors.EVENT_READ, lambda: self._bury(worker))

    def _tell(self, workers: Iterable[int], message: Message) -> None:
        for worker in workers:
            if worker in self._hands:
                self._send(self._hands[worker], message)

    def _send(self, hand: Hand, message: Message) -> None:
        if hand.channel is not None:
            try:
                hand.channel.send(message)
            except Deaf:
                # Once it reads again it finds the channel closed, comes back, and is told what it has missed.
                self._hang_up(hand)
            except Closed:
                pass  # its process is ending, and the selector will say so

    def _greet(self) -> None:
        for channel, greeting in self._listener.accept(time.monotonic()):
            try:
                self._admit(channel, checked(greeting, GREETINGS))
            except Malformed as error:
                self._refuse(channel.peer, str(error))
                _answer(channel, {"kind": "refused", "why": str(error)})

    def _admit(self, channel: Channel, greeting: Message) -> None:
        if greeting["kind"] != "hello":
            means = Means(self._decide, self.order_stop, self._order_change)
            _answer(channel, wish(greeting, self._captain, means))
        elif self._is_ours(channel, greeting):
            self._welcome(greeting["worker"], channel, greeting)
        else:
            self._refuse(channel.peer, f"it is not worker {greeting['worker']} of this crew")
            _answer(channel, farewell(self._captain.term))

    def _is_ours(self, channel: Channel, greeting: Message) -> bool:
        """A worker of an earlier execution of this run, or of a captain that is past, may have the same number."""
        hand = self._hands.get(greeting["worker"])
        same_memory = greeting["arena"] == os.fstat(self._arena).st_ino
        same_process = hand is not None and hand.process.pid == channel.peer.pid
        return same_process and same_memory and bool(greeting["term"] <= self._captain.term)

    def _refuse(self, peer: Peer, why: str) -> None:
        text = f"process {peer.pid} of user {peer.uid} was refused: {why}"
        self._tell_refused(self._refusals.add(text, time.monotonic()))

    def _tell_refused(self, texts: list[str]) -> None:
        for text in texts:
            self._ears.note(e.Note("refused", text), "")

    def _welcome(self, worker: int, channel: Channel, greeting: Message) -> None:
        """Hear what it has to tell, and tell it what it may have missed."""
        hand = self._hands[worker]
        if hand.channel is not None:
            self._hang_up(hand)
        hand.channel = channel
        self._selector.register(channel, selectors.EVENT_READ, lambda: self._listen(worker, channel))
        reached("worker.greeted")
        self._send(hand, {"kind": "welcome", "term": self._captain.term})
        with self._wary(hand, channel):
            for message in greeting["told"]:
                self._hear(worker, message)
        self._decide(e.Greeted(worker))

    def _listen(self, worker: int, channel: Channel) -> None:
        hand = self._hands.get(worker)
        if hand is None or hand.channel is not channel:
            return  # it has been hung up since there was something to hear
        try:
            with self._wary(hand, channel):
                message = channel.receive(timeout_s=0.0)
                if message is not None:
                    self._hear(worker, checked(message, FROM_WORKER))
        except Closed:
            # Its process is about to end, or it has lost patience with this captain and will come back.
            self._hang_up(hand)

    @contextlib.contextmanager
    def _wary(self, hand: Hand, channel: Channel) -> Iterator[None]:
        """A worker that says what cannot be is hung up. It will notice, and come back with all that it has to tell."""
        try:
            yield
        except Malformed as error:
            self._refuse(channel.peer, str(error))
            self._hang_up(hand)

    def _hang_up(self, hand: Hand) -> None:
        if hand.channel is not None:
            if hand.channel in [key.fileobj for key in self._selector.get_map().values()]:
                self._selector.unregister(hand.channel)
            hand.channel.close()
            hand.channel = None

    def _hear(self, worker: int, message: Message) -> None:
        match message["kind"]:
            case "built":
                if self._place.layout.exists():
                    self._lay_out()
                if self.gauges is None:
                    raise Malformed("it says that it is built, and has not written the layout")
            case "evaluated":
                self._ears.measured()
            case "failed":
                self._ears.note(e.Note("trace", f"worker {worker} failed", worker), message["trace"])
        event = event_of(worker, message)
        if event is not None:
            self._decide(event)

    def _lay_out(self) -> None:
        if self.gauges is not None:
            return
        layout = self._place.read_layout()
        if self._captain.digest is None:
            self._make_room(layout["resident_bytes"], layout["slot_bytes"])
        self.gauges = Gauges(Arena(self._arena, layout["size"]), layout)
        self.gauges.begin_term(self._captain.term)
        self.gauges.wish_changes(self._place.changes.count())
        self._ears.laid_out(self.gauges)

    def _make_room(self, resident: int, per_worker: int) -> None:
        """Nothing is touched yet; where there is no memory for all workers, there may be for as many as must be."""
        least, most = self._captain.terms.at_least, self._captain.target
        room = (available_memory() - resident) // per_worker
        if room < least:
            error = too_little(resident + least * per_worker, "this job")
            self.ending = e.End("failed", str(error))
            raise error
        if room < most:
            self._ears.note(e.Note("room", f"there is memory for {room} of {most} workers"), "")
            self._decide(e.Scale(room))

    def _bury(self, worker: int) -> None:
        hand = self._hands.pop(worker)
        self._selector.unregister(hand.process)
        if hand.channel is not None:
            self._last_words(worker, hand.channel)
            self._hang_up(hand)
        cause = hand.process.cause()
        hand.process.close()
        reached("worker.buried")
        self._decide(e.Lost(worker, f"worker {worker} died: {cause}", self._to_blame(worker, cause)))

    def _to_blame(self, worker: int, cause: str) -> e.Place | None:
        """What the worker was computing, if that may be why it died; somebody else's SIGKILL may hit anywhere."""
        member = self._captain.members.get(worker)
        if self.gauges is None or member is None or member.seat is None:
            return None
        if cause == KILLED and not member.doomed:
            return None
        return self.gauges.computing(member.seat)

    def _last_words(self, worker: int, channel: Channel) -> None:
        """What it said before it ended still counts."""
        with contextlib.suppress(Closed, Malformed):
            while message := channel.receive(timeout_s=0.0):
                self._hear(worker, checked(message, FROM_WORKER))

    def _measure(self) -> None:
        """How fast each member is, every few seconds; a view that is younger has nothing to tell."""
        now = time.monotonic()
        if self.gauges is None or now - self._measured_at < _MEASURE_S:
            return
        self._measured_at = now
        view, before = self.view, self._worked
        self._worked = view.epoch, self.gauges.worked(view.seats)
        if before[0] == view.epoch and self._captain.committed:
            self._decide(e.Measured(speeds(before[1], self._worked[1])))

    def _stuck(self) -> list[tuple[int, str]]:
        if self.gauges is None:
            return []
        patience_s = self._captain.terms.patience_s
        stuck = self.gauges.stuck(self._captain.expected(), patience_s, self._captain.time, self._activity)
        return [
            (worker, f"worker {worker} made no progress for {seconds:.1f} s, so it is killed")
            for worker, seconds in stuck.items()
        ]

    def _idle(self) -> Iterator[tuple[int, str]]:
        """Workers that are still to be built, and do nothing for it; they may wait for data that never come."""
        now, patience_s = self._captain.time, self._captain.terms.patience_s
        for worker, member in list(self._captain.members.items()):
            used = self._activity(worker).processor_s
            before, since = self._used.get(worker, (-1.0, now))
            if member.built or used - before > _IDLE_S:
                self._used[worker] = used, now
            elif now - since > patience_s:
                yield worker, f"worker {worker} did nothing for {patience_s:g} s while it was to get ready"

    def _activity(self, worker: int) -> Activity:
        return self._hands[worker].process.activity() if worker in self._hands else Activity(0.0, False)


def _joined(view: View, number: int) -> e.Note:
    names = ", ".join(str(worker) for worker, _ in view.members)
    return e.Note("view", f"view {number}: workers {names}")


def _answer(channel: Channel, message: Message) -> None:
    """The only thing that is said on this channel."""
    with contextlib.suppress(Closed):
        channel.send(message)
    channel.close()


def _await_end(process: Process, deadline: float) -> None:
    waiting = selectors.DefaultSelector()
    waiting.register(process, selectors.EVENT_READ)
    if not waiting.select(max(0.0, deadline - time.monotonic())):
        process.kill()
    waiting.close()
