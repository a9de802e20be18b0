"""Carries out the faults of a plan, each at its time; and what people want of the run meanwhile."""

from functools import partial
from typing import TYPE_CHECKING

from plan import Fault
from wire import DOWN, UP
from workers import Worker

from holdfast.run import events as e

if TYPE_CHECKING:
    from captaincy import Captaincy
    from world import World

_MAKE_UP_S = 20.0
_AWAY_S = 15.0
"""Until somebody wants to be captain when there is none; mostly much less."""


class Strikes:
    def __init__(self, world: "World") -> None:
        self.granted = 0
        """Workers that may be started beyond the first and the replaced ones."""
        self._world = world
        self._actions_left = 0

    def begin(self) -> None:
        for fault in self._world.plan.faults:
            self._world.later(fault.at_s, partial(self._strike, fault))
        self._world.later(self._world.plan.until_s + _MAKE_UP_S, self._make_up)

    def heed_action(self) -> None:
        """A captain has done one thing; it may be its last."""
        self._actions_left -= 1
        if self._actions_left == 0:
            self._lose_captain(None)

    def _strike(self, fault: Fault) -> None:
        world = self._world
        match fault.kind:
            case "kill" | "hang" | "slow" | "fail" | "leaves" | "reset" | "cut":
                living = [worker for worker in world.hands if worker.alive]
                if living:
                    self._hit(fault, living[int(fault.pick * len(living))])
            case "noise":
                world.wire.noise += fault.amount
                world.later(fault.lasts_s, self._quieten)
            case "cut_all":
                self._cut(-1, fault)
            case "captain_dies":
                self._lose_captain(None)
            case "captain_sleeps":
                self._lose_captain(fault.lasts_s)
            case "captain_acts":
                self._actions_left = int(fault.amount)
            case "jump":
                world.captaincy.clock_s += fault.amount
            case "ledger":
                world.ledger_from_s = max(world.ledger_from_s, world.now + fault.lasts_s)
            case "stop":
                world.stopping = True
                world.captaincy.decide(e.Unpause())
            case _:
                world.captaincy.ask(partial(self._wish, fault, world.captaincy))

    def _hit(self, fault: Fault, worker: Worker) -> None:
        world = self._world
        match fault.kind:
            case "kill":
                worker.die()
            case "hang":
                worker.hang()
            case "fail":
                worker.fail()
            case "leaves":
                self.granted += 1
                worker.take_notice()
            case "reset":
                worker.lose_line()
            case "cut":
                self._cut(worker.number, fault)
            case "slow":
                worker.slowness = fault.amount
                world.later(fault.lasts_s, partial(setattr, worker, "slowness", 1.0))

    def _quieten(self) -> None:
        """When nothing is left of the noise, nothing is left of rounding either."""
        faults, now = self._world.plan.faults, self._world.now
        noises = [f.amount for f in faults if f.kind == "noise" and f.at_s <= now < f.at_s + f.lasts_s - 1e-6]
        self._world.wire.noise = sum(noises)

    def _cut(self, number: int, fault: Fault) -> None:
        """One way, the other way, or both."""
        cut = self._world.wire.cut
        ways = [(number, way) for way in (UP, DOWN) if fault.amount in (way, 2)]
        for way in ways:
            cut[way] = cut.get(way, 0) + 1
        self._world.later(fault.lasts_s, lambda: cut.update({way: cut[way] - 1 for way in ways}))

    def _wish(self, fault: Fault, captaincy: "Captaincy") -> None:
        captain = captaincy.captain
        match fault.kind:
            case "scale":
                self.granted += self._world.terms.seats
                captaincy.decide(e.Scale(int(fault.amount)))
            case "drain":
                staying = [number for number, member in captain.members.items() if not member.leaving]
                if len(staying) > 1:
                    captaincy.decide(e.Drain(staying[int(fault.pick * len(staying))]))
            case "pause":
                captaincy.decide(e.Pause())
            case "unpause":
                captaincy.decide(e.Unpause())
            case "speeds":
                for _ in range(2):
                    fast = int(fault.pick * len(captain.view.members))
                    speeds = tuple(5.0 if rank == fast else 1.0 for rank in range(len(captain.view.members)))
                    captaincy.decide(e.Measured(speeds))

    def _lose_captain(self, sleeps_s: float | None) -> None:
        """It dies, or is stopped and wakes later without knowing what has happened since."""
        world, lost = self._world, self._world.captaincy
        if lost.acts:
            lost.acts, lost.dead = False, sleeps_s is None
            if sleeps_s is not None:
                world.later(sleeps_s, lost.wake)
            world.later(_AWAY_S * world.chance.random() ** 3, partial(world.succeed, lost))

    def _make_up(self) -> None:
        """What was paused goes on, whoever is captain then."""
        if self._world.captain.paused:
            self._world.captaincy.decide(e.Unpause())
            self._world.later(_MAKE_UP_S, self._make_up)
