"""What goes wrong in a world, and until when; and what people want of the run meanwhile."""

import random
from typing import TYPE_CHECKING

from workers import Worker

from holdfast.run import events as e

if TYPE_CHECKING:
    from world import World


class Faults:
    """Some worlds have none, some many; all of them come to an end, so that the run can."""

    def __init__(self, chance: random.Random) -> None:
        self.until_s = chance.choice([0.0, 20.0, 60.0, 200.0])
        self.failed = False
        self.granted = 0
        """Workers that may be started beyond the first and the replaced ones."""
        self._chance = chance
        self._between_s = chance.choice([1.0, 5.0, 30.0])
        self._strangers = chance.random() < 0.02
        self._fails = chance.random() < 0.03
        self._stops = chance.random() < 0.1
        self._captains = chance.choice([0.0, 0.0, 0.1, 0.4])
        self._wishes = chance.choice([0.0, 0.1, 0.4])
        self._over = False

    def begin(self, world: "World") -> None:
        if self._stops:
            world.later(self._chance.uniform(0.0, 60.0), world.order_stop)
        world.later(self._pause(), lambda: self._strike(world))

    def digest_of(self, number: int) -> str:
        """A model that depends on more than the job is built differently each time."""
        self.failed |= self._strangers and number > 0
        return str(number) if self._strangers else "same"

    def strikes_captain(self) -> bool:
        """In the middle of what it does."""
        return not self._over and self._captains > 0 and self._chance.random() < 0.02

    def _strike(self, world: "World") -> None:
        if world.now > self.until_s:
            self._over = True
            world.later(20.0, lambda: self._make_up(world))
            return
        kind = self._chance.random()
        living = [worker for worker in world.hands if worker.alive]
        if kind < self._captains:
            world.lose_captain(for_good=self._chance.random() < 0.6)
        elif kind < self._captains + self._wishes:
            self._wish(world)
        elif living:
            self._hit(self._chance.choice(living))
        world.later(self._pause(), lambda: self._strike(world))

    def _make_up(self, world: "World") -> None:
        """What was paused goes on, whoever is captain then."""
        if world.captain.paused:
            world.captaincy.decide(e.Unpause())
            world.later(20.0, lambda: self._make_up(world))

    def _wish(self, world: "World") -> None:
        captain = world.captain
        staying = [number for number, member in captain.members.items() if not member.leaving]
        kind = self._chance.choice(["scale", "drain", "leaves", "pause", "unpause", "speeds"])
        if kind == "scale":
            self.granted += world.terms.seats
            world.captaincy.decide(e.Scale(self._chance.randint(1, world.terms.seats - 2)))
        elif kind == "drain" and len(staying) > 1:
            world.captaincy.decide(e.Drain(self._chance.choice(staying)))
        elif kind == "leaves" and staying:
            self.granted += 1
            world.captaincy.decide(e.Leaves(self._chance.choice(staying)))
        elif kind == "speeds":
            speeds = tuple(self._chance.choice([1.0, 5.0]) for _ in captain.view.members)
            for _ in range(2):
                world.captaincy.decide(e.Measured(speeds))
        elif kind in ("pause", "unpause"):
            world.captaincy.decide(e.Pause() if kind == "pause" else e.Unpause())

    def _hit(self, worker: Worker) -> None:
        kind = self._chance.random()
        if self._fails and kind < 0.1:
            self.failed = True
            worker.fail()
        elif kind < 0.3 and worker.built:
            worker.hang()
        else:
            worker.die()

    def _pause(self) -> float:
        return self._chance.expovariate(1.0 / self._between_s)
