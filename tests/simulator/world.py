"""A run without processes: production captains, a model of the crew's driver, and small models of workers.

Time is virtual and chance comes from one seed, so a seed replays exactly. The shared words are real ones, read by the
production gauges. Workers do what `run/worker.py`, `run/line.py` and `run/stepper.py` do as far as others can see it:
build, answer what they are told in order, step in lockstep, come to a safe point when a newer epoch is in the header,
find the next captain when theirs is gone.
"""

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from captaincy import Captaincy
from faults import Faults
from law import Law
from workers import Worker

from holdfast.planes.words import words_of
from holdfast.run import events as e
from holdfast.run.captain import Captain, Terms
from holdfast.run.gauges import Gauges
from holdfast.step.places import HEADER_WORDS, SEAT_WORDS

TICK_S = 0.5
LIMIT_S = 3000.0


class Memory:
    """As much of an arena as the gauges look at."""

    def __init__(self, seats: int) -> None:
        self._bytes = memoryview(bytearray(8 * (HEADER_WORDS + SEAT_WORDS * seats)))

    def bytes_at(self, offset: int, size: int) -> memoryview:
        return self._bytes[offset : offset + size]


class Hands:
    """A set that keeps the order in which it was filled, so that a seed replays."""

    def __init__(self) -> None:
        self._workers: dict[int, Worker] = {}

    def __iter__(self) -> Iterator[Worker]:
        return iter(list(self._workers.values()))

    def add(self, worker: Worker) -> None:
        self._workers[id(worker)] = worker

    def discard(self, worker: Worker | None) -> None:
        self._workers.pop(id(worker), None)


@dataclass
class World:
    seed: int
    now: float = 0.0
    step: int = 0
    mended: int = 0
    stopping: bool = False
    end: e.End | None = None
    hands: Hands = field(default_factory=Hands)
    """The living, and the dead that nobody has buried."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        replicas = self.chance.randint(1, 6)
        workers = self.chance.randint(1, replicas)
        self.terms = Terms(
            workers=workers,
            at_least=self.chance.randint(1, workers),
            restarts=self.chance.choice([0, 1, 3, 10, 30]),
            seats=replicas + 2,
            patience_s=self.chance.choice([5.0, 20.0, 60.0]),
        )
        self.steps = self.chance.randint(1, 25)
        self.faults = Faults(self.chance)
        seats = self.terms.seats
        layout = {"seats": 8 * HEADER_WORDS, "num_seats": seats, "steps": 0, "history": 0, "times": 0}
        memory = Memory(seats)
        self.gauges = Gauges(memory, layout)  # type: ignore[arg-type]
        self.seats = words_of(memory.bytes_at(8 * HEADER_WORDS, 8 * SEAT_WORDS * seats))
        self.law = Law(self)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self.captaincy = Captaincy(self, Captain(self.terms, term=1), {})
        """The one that has the lease."""

    @property
    def captain(self) -> Captain:
        return self.captaincy.captain

    def run(self) -> e.End:
        """Until a captain ends it; AssertionError when something is against the law, or when it takes too long."""
        self.gauges.begin_term(1)
        self.captaincy.decide(e.Begin())
        self.later(TICK_S, self.captaincy.tick)
        self.faults.begin(self)
        while self.end is None:
            self.now, _, happen = heapq.heappop(self._queue)
            assert self.now < LIMIT_S, "the run does not end"
            happen()
            for worker in self.hands:
                worker.look_up()
        self.law.judge_end(self.end)
        return self.end

    def later(self, delay_s: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.now + delay_s, next(self._order), happen))

    def delay(self) -> float:
        """Of a message, or until a process notices something: mostly short."""
        return self.chance.expovariate(20.0) if self.chance.random() < 0.9 else self.chance.uniform(0.0, 4.0)

    def order_stop(self) -> None:
        self.stopping = True
        self.captaincy.decide(e.Unpause())

    def lose_captain(self, for_good: bool) -> None:
        """It dies, or is stopped and wakes later without knowing what has happened since."""
        lost = self.captaincy
        if not lost.acts:
            return
        lost.acts = False
        if not for_good:
            self.later(self.chance.uniform(1.0, 30.0), lost.wake)
        self.later(self.chance.uniform(0.2, 15.0), lambda: self._succeed(lost))

    def _succeed(self, lost: Captaincy) -> None:
        """The lease goes to another one, unless the last one has come back in time."""
        if self.end is not None or lost.acts or self.captaincy is not lost:
            return
        captain = Captain.successor(self.terms, lost.captain.term + 1, lost.standing)
        self.captaincy = Captaincy(self, captain, lost.processes)
        self.gauges.begin_term(captain.term)
        self.captaincy.take_over()
        self.later(TICK_S, self.captaincy.tick)
