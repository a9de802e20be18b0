"""The lines between workers and captains. As sockets are, or, while there is noise, as bad as a network can be."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from captaincy import Captaincy
    from workers import Worker
    from world import World

Message = dict[str, Any]
UP, DOWN = 0, 1
_LATE_S = 10.0


class Wire:
    def __init__(self, world: "World") -> None:
        self.noise = 0.0
        """How likely a message is lost; as likely it comes twice, and as likely late."""
        self.cut: dict[tuple[int, int], int] = {}
        """By worker and direction: how many faults cut it at present. Worker -1 stands for all."""
        self.sent = 0
        self._world = world
        self._last_s: dict[tuple[int, int], float] = {}

    def up(self, worker: "Worker", message: Message) -> None:
        captaincy = worker.captaincy
        if captaincy is not None:
            self._carry(worker, UP, lambda: captaincy.hear(worker, message))

    def down(self, worker: "Worker", message: Message, captaincy: "Captaincy") -> None:
        if captaincy is worker.captaincy or self.noise:
            self._carry(worker, DOWN, lambda: worker.receive(message))

    def notice_death(self, worker: "Worker") -> None:
        """It is seen after all that was said before; that is no message, and cannot be lost."""
        world = self._world
        at = max(self._last_s.get((worker.number, UP), 0.0), world.now) + world.delay()
        world.later(at - world.now, lambda: world.captaincy.bury(worker))

    def _carry(self, worker: "Worker", way: int, come: Callable[[], None]) -> None:
        world, chance = self._world, self._world.chance
        self.sent += 1
        if self.cut.get((worker.number, way)) or self.cut.get((-1, way)) or chance.random() < self.noise:
            worker.disturbed_at = world.now
            return
        line = None if self.noise else worker.line
        for _ in range(1 + (chance.random() < self.noise)):
            if chance.random() < self.noise:
                at = world.now + chance.uniform(0.0, _LATE_S)
                worker.disturbed_at = max(at, worker.disturbed_at)
            else:
                at = max(self._last_s.get((worker.number, way), 0.0), world.now + world.delay())
                self._last_s[worker.number, way] = at
            world.later(at - world.now, lambda: come() if line in (None, worker.line) else None)
