"""One captain's time: the production captain, and a model of the driver that hears for it and acts for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wire import Message
from workers import Worker

from holdfast.run import events as e
from holdfast.run.captain import Captain
from holdfast.run.letters import event_of, farewell, letters_of

if TYPE_CHECKING:
    from world import World

TICK_S = 0.5
TTL_S = 10.0


class Captaincy:
    """`acts` is false once the process is dead, stopped or superseded. What it knows it has written down before."""

    def __init__(self, world: "World", captain: Captain, processes: dict[int, Worker]) -> None:
        self.captain = captain
        self.acts = True
        self.dead = False
        self.standing: dict[str, Any] = captain.standing()
        self.processes = dict(processes)
        self.clock_s = world.chance.uniform(0.0, 1e6)
        """What its clock shows at the beginning of the world. No two have the same, and a clock may jump."""
        self._world = world
        self._gauges = world.shared.gauges()
        self._renewed_at = world.now
        self._missed: list[Callable[[], None]] = []
        self._is_waking = False

    def begin(self) -> None:
        self._gauges.begin_term(self.captain.term)
        if self.captain.term == 1:
            self.decide(e.Begin())
        else:
            self._take_over()
        self._world.later(TICK_S, self._tick)

    def hear(self, worker: Worker, message: Message) -> None:
        """What a worker says; a captain that is stopped, or unsure of its lease, finds it later."""
        if not self._may_decide:
            self.ask(lambda: self.hear(worker, message))
        elif self.processes.get(worker.number) is not worker:
            self._world.wire.down(worker, farewell(self.captain.term), self)
        elif message["kind"] == "hello":
            self._world.wire.down(worker, {"kind": "welcome", "term": self.captain.term}, self)
            for told in message["told"]:
                self._hear(worker, told)
            self.decide(e.Greeted(worker.number))
        else:
            self._hear(worker, message)

    def decide(self, event: e.Event) -> None:
        world = self._world
        if not self._may_decide:
            self.ask(lambda: self.decide(event))
            return
        if world.end is not None:
            return
        world.law.heed(event)
        actions = self.captain.handle(event, world.now + self.clock_s)
        world.law.judge(actions, self)
        # As the crew does it: what is about to be done is written down first.
        words = (e.Note, e.Confirm, e.Remind)
        if not all(isinstance(action, words) for action in actions) or isinstance(event, e.Built):
            self.standing = self.captain.standing()
        for action in actions:
            if not self.acts:
                return  # it died in the middle of it
            self._carry_out(action)
            world.strikes.heed_action()

    def ask(self, wish: Callable[[], None]) -> None:
        """Somebody wants something of it, as soon as it can see to it."""
        if self._may_decide:
            wish()
        else:
            self._missed.append(wish)

    def bury(self, worker: Worker) -> None:
        """Its process has ended, and all that it had said is heard."""
        if not self._may_decide:
            self.ask(lambda: self.bury(worker))
            return
        self._world.hands.discard(worker)
        if self.processes.get(worker.number) is worker:
            del self.processes[worker.number]
            self.decide(e.Lost(worker.number, "died"))

    def wake(self) -> None:
        """It goes on as if no time had passed, until it looks at its lease."""
        world = self._world
        if self.dead:
            return
        self.acts = self._is_waking = True
        self._catch_up()
        self.decide(e.Tick())
        self.acts, self._is_waking = world.captaincy is self and not self.dead, False

    @property
    def _may_decide(self) -> bool:
        return self.acts and (self._is_waking or self._world.now - self._renewed_at < TTL_S)

    def _catch_up(self) -> None:
        missed, self._missed = self._missed, []
        for happen in missed:
            happen()

    def _take_over(self) -> None:
        for number in list(self.captain.members):
            process = self.processes.get(number)
            if process is None or not process.alive:
                self._world.hands.discard(process)
                self.processes.pop(number, None)
                self.decide(e.Lost(number, "died unseen"))
        self.decide(e.TakeOver(self._gauges.newest_epoch or 0))

    def _tick(self) -> None:
        world = self._world
        if world.captaincy is not self:
            return
        world.later(TICK_S, self._tick)
        if not self.acts:
            return
        if world.has_ledger:
            self._renewed_at = world.now
            self._catch_up()
        self.decide(e.Tick())
        if self._may_decide:
            self._look()

    def _look(self) -> None:
        """As the crew does it: members of a committed view are to make progress, the others to get ready."""
        captain, patience_s = self.captain, self._world.plan.patience_s
        for number in self._gauges.stuck(captain.expected(), patience_s, captain.time):
            self.decide(e.Hung(number, "no progress"))
        for number, process in list(self.processes.items()):
            member = captain.members.get(number)
            since = process.hung_at
            if since is not None and self._world.now - since > patience_s and member is not None and not member.built:
                self.decide(e.Hung(number, "idle"))

    def _hear(self, worker: Worker, message: Message) -> None:
        event = event_of(worker.number, message)
        assert event is not None, f"nobody knows what {message} means"
        self.decide(event)

    def _carry_out(self, action: e.Action) -> None:
        world, term = self._world, self.captain.term
        match action:
            case e.Spawn(number):
                self.processes[number] = Worker(world, number)
                world.hands.add(self.processes[number])
            case e.Propose(view):
                self._gauges.announce(term, view.epoch)
            case e.Kill(number):
                if number in self.processes:
                    world.later(world.delay(), self.processes[number].die)
            case e.End():
                if world.captaincy is self:
                    world.end = action
        for numbers, message in letters_of(action, term):
            for number in numbers:
                if number in self.processes:
                    world.wire.down(self.processes[number], message, self)
