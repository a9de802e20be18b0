"""A run without processes: the production captain, a model of the crew's driver, and small models of workers.

Time is virtual and chance comes from one seed, so a seed replays exactly. The shared words are real ones, read by the
production gauges. Workers do what `run/worker.py` and `run/stepper.py` do as far as others can see it: build, answer
what they are told in order, step in lockstep, come to a safe point when a newer epoch is in the header.
"""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from faults import Faults
from law import Law
from workers import Worker

from holdfast.planes.words import words_of
from holdfast.run import captain as c
from holdfast.run.gauges import Gauges
from holdfast.run.view import View
from holdfast.step.places import HEADER_WORDS, SEAT_WORDS

Message = tuple[str, View]
TICK_S = 0.5
LIMIT_S = 3000.0


class Memory:
    """As much of an arena as the gauges look at."""

    def __init__(self, seats: int) -> None:
        self._bytes = memoryview(bytearray(8 * (HEADER_WORDS + SEAT_WORDS * seats)))

    def bytes_at(self, offset: int, size: int) -> memoryview:
        return self._bytes[offset : offset + size]


@dataclass
class World:
    seed: int
    now: float = 0.0
    step: int = 0
    mended: int = 0
    stopping: bool = False
    end: c.End | None = None
    hands: dict[int, Worker] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        replicas = self.chance.randint(1, 6)
        workers = self.chance.randint(1, replicas)
        self.terms = c.Terms(
            workers=workers,
            at_least=self.chance.randint(1, workers),
            restarts=self.chance.choice([0, 1, 3, 10, 30]),
            seats=replicas + 2,
            patience_s=self.chance.choice([5.0, 20.0, 60.0]),
        )
        self.steps = self.chance.randint(1, 25)
        self.faults = Faults(self.chance)
        self.captain = c.Captain(self.terms)
        seats = self.terms.seats
        layout = {"seats": 8 * HEADER_WORDS, "num_seats": seats, "steps": 0, "history": 0, "times": 0}
        memory = Memory(seats)
        self.gauges = Gauges(memory, layout)  # type: ignore[arg-type]
        self.seats = words_of(memory.bytes_at(8 * HEADER_WORDS, 8 * SEAT_WORDS * seats))
        self.law = Law(self)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def run(self) -> c.End:
        """Until the captain ends it; AssertionError when something is against the law, or when it takes too long."""
        self.decide(c.Begin())
        self.later(TICK_S, self._tick)
        self.faults.begin(self)
        while self.end is None:
            self.now, _, happen = heapq.heappop(self._queue)
            assert self.now < LIMIT_S, "the run does not end"
            happen()
            for worker in self.hands.values():
                worker.look_up()
        self.law.judge_end(self.end)
        return self.end

    def later(self, delay_s: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.now + delay_s, next(self._order), happen))

    def delay(self) -> float:
        """Of a message, or until a process notices something: mostly short."""
        return self.chance.expovariate(20.0) if self.chance.random() < 0.9 else self.chance.uniform(0.0, 4.0)

    def decide(self, event: c.Event) -> None:
        self.law.heed(event)
        for action in self.captain.handle(event, self.now):
            self.law.judge(action)
            self._carry_out(action)

    def bury(self, worker: Worker) -> None:
        """Its process has ended, and all that it had said is heard."""
        del self.hands[worker.number]
        self.decide(c.Lost(worker.number, "died"))

    def order_stop(self) -> None:
        self.stopping = True

    def _carry_out(self, action: c.Action) -> None:
        match action:
            case c.Spawn(number):
                self.hands[number] = Worker(self, number)
            case c.Propose(view):
                self.gauges.epoch = view.epoch
                self._tell("propose", view)
            case c.Commit(view):
                self._tell("commit", view)
            case c.Kill(number):
                self.later(self.delay(), self.hands[number].die)
            case c.End():
                self.end = action

    def _tell(self, kind: str, view: View) -> None:
        for number, _ in view.members:
            if number in self.hands:
                self.hands[number].tell((kind, view))

    def _tick(self) -> None:
        self.later(TICK_S, self._tick)
        if self.captain.committed:
            # As the crew does it: only who is in a committed view is expected to make progress.
            for number in self.gauges.stuck(self.captain.view.members, self.terms.patience_s, self.now):
                self.decide(c.Hung(number, "no progress"))
        self.decide(c.Tick())
