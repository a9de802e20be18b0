"""One captain's time: the production captain, and a model of the driver that hears for it and acts for it."""

from typing import TYPE_CHECKING, Any

from workers import Worker

from holdfast.run import events as e
from holdfast.run.captain import Captain

if TYPE_CHECKING:
    from world import World


class Captaincy:
    """`acts` is false once the process is dead, stopped or superseded. What it knows it has written down before."""

    def __init__(self, world: "World", captain: Captain, processes: dict[int, Worker]) -> None:
        self.captain = captain
        self.acts = True
        self.standing: dict[str, Any] = captain.standing()
        self.processes = dict(processes)
        self._world = world
        self._missed: list[e.Event] = []
        self._last_moments = False
        self._hears = True

    def decide(self, event: e.Event) -> None:
        if not self.acts:
            self._missed.append(event)  # it lies in the socket's buffer
            return
        world = self._world
        if world.end is not None:
            return
        world.law.heed(event)
        actions = self.captain.handle(event, world.now)
        self.standing = self.captain.standing()
        for action in actions:
            if not self.acts and not self._last_moments:
                return  # it died in the middle of it
            world.law.judge(action, self)
            self._carry_out(action)
            if world.faults.strikes_captain():
                world.lose_captain(for_good=True)

    def take_over(self) -> None:
        for number in list(self.captain.members):
            process = self.processes.get(number)
            if process is None or not process.alive:
                self._world.hands.discard(process)
                self.processes.pop(number, None)
                self.decide(e.Lost(number, "died unseen"))
        self.decide(e.TakeOver())

    def wake(self) -> None:
        """It goes on as if no time had passed, until it looks at its lease."""
        world = self._world
        if world.captaincy is self:
            self.acts = True
        else:
            self._last_moments = True
        missed, self._missed = self._missed, []
        self.acts = True
        for event in [*missed, e.Tick()]:
            self.decide(event)
        self.acts, self._last_moments = world.captaincy is self, False

    def tick(self) -> None:
        world = self._world
        if world.captaincy is not self:
            return
        world.later(0.5, self.tick)
        if not self.acts:
            return
        if self.captain.committed:
            # As the crew does it: only who is in a committed view is expected to make progress.
            for number in world.gauges.stuck(self.captain.view.members, world.terms.patience_s, world.now):
                self.decide(e.Hung(number, "no progress"))
        for number, process in list(self.processes.items()):
            # As the crew does it: who is to get ready and does nothing for it is not waited for.
            member = self.captain.members.get(number)
            if process.hung and member is not None and not member.built and world.chance.random() < 0.05:
                self.decide(e.Hung(number, "idle"))
        self.decide(e.Tick())

    def bury(self, worker: Worker) -> None:
        """Its process has ended, and all that it had said is heard."""
        self._world.hands.discard(worker)
        if self.processes.get(worker.number) is worker:
            del self.processes[worker.number]
            self.decide(e.Lost(worker.number, "died"))

    def welcome(self, worker: Worker) -> None:
        """It greets, with all that a captain must know of it; it is told what it may have missed."""
        if self.processes.get(worker.number) is not worker:
            worker.tell(("quit", self.captain.view), self)
            return
        for event in worker.told():
            if not isinstance(event, e.Built) or not self.captain.members[worker.number].built:
                self.decide(event)
        view = self.captain.view
        if worker.number in self.captain.asked() and view.epoch and view.epoch not in (worker.running, worker.done):
            worker.tell(("propose", view), self)
            if self.captain.committed and worker.number in dict(view.members):
                worker.tell(("commit", view), self)

    def _carry_out(self, action: e.Action) -> None:
        world, term = self._world, self.captain.term
        match action:
            case e.Spawn(number):
                self.processes[number] = Worker(world, number, self)
                world.hands.add(self.processes[number])
            case e.Propose(view, asked):
                world.gauges.announce(term, view.epoch)
                for number in asked:
                    self._tell(number, ("propose", view))
            case e.Commit(view):
                for number, _ in view.members:
                    self._tell(number, ("commit", view))
            case e.Release(number):
                self._tell(number, ("quit", self.captain.view))
            case e.Kill(number):
                if number in self.processes:
                    world.later(world.delay(), self.processes[number].die)
            case e.End():
                if world.captaincy is self:
                    world.end = action

    def _tell(self, number: int, message: Any) -> None:
        if number in self.processes:
            self.processes[number].tell(message, self)
