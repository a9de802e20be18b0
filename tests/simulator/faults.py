"""What goes wrong in a world, and until when."""

import random
from typing import TYPE_CHECKING

from workers import Worker

if TYPE_CHECKING:
    from world import World


class Faults:
    """Some worlds have none, some many; all of them come to an end, so that the run can."""

    def __init__(self, chance: random.Random) -> None:
        self.until_s = chance.choice([0.0, 20.0, 60.0, 200.0])
        self.failed = False
        self._chance = chance
        self._between_s = chance.choice([1.0, 5.0, 30.0])
        self._strangers = chance.random() < 0.02
        self._fails = chance.random() < 0.03
        self._stops = chance.random() < 0.1

    def begin(self, world: "World") -> None:
        if self._stops:
            world.later(self._chance.uniform(0.0, 60.0), world.order_stop)
        world.later(self._pause(), lambda: self._strike(world))

    def digest_of(self, number: int) -> str:
        """A model that depends on more than the job is built differently each time."""
        self.failed |= self._strangers and number > 0
        return str(number) if self._strangers else "same"

    def _strike(self, world: "World") -> None:
        if world.now > self.until_s:
            return
        living = [worker for worker in world.hands.values() if worker.alive]
        if living:
            self._hit(self._chance.choice(living))
        world.later(self._pause(), lambda: self._strike(world))

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
