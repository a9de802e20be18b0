"""A run without processes: production's captains and duties, and models of what is between them.

Time is virtual and chance comes from the plan's seed, so a plan replays exactly. What the captain's driver and a
worker's stepping do is modelled in captaincy.py and workers.py; all decisions are production's.
"""

import heapq
import random
from collections.abc import Callable, Iterator
from itertools import count

from captaincy import Captaincy
from law import Law
from plan import Plan
from shared import Shared
from strikes import Strikes
from wire import Wire
from workers import Worker

from holdfast.run import events as e
from holdfast.run.captain import Captain, Terms
from holdfast.run.view import newest_epoch

_MOST_EVENTS = 100_000


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


class World:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.now = 0.0
        self.stopping = False
        self.end: e.End | None = None
        self.ledger_from_s = 0.0
        """The ledger cannot be reached before this."""
        self.hands = Hands()
        """The living, and the dead that nobody has buried."""
        self.chance = random.Random(plan.seed)
        self.terms = Terms(plan.workers, plan.at_least, plan.restarts, plan.replicas + 2, plan.patience_s)
        self.shared = Shared(self.terms.seats, plan.replicas)
        self.wire = Wire(self)
        self.strikes = Strikes(self)
        self.law = Law(self)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self.captaincy = Captaincy(self, Captain(self.terms, term=1), {})
        """The one that has the lease."""

    @property
    def captain(self) -> Captain:
        return self.captaincy.captain

    @property
    def newest_epoch(self) -> int | None:
        return newest_epoch(self.shared.header)

    @property
    def has_ledger(self) -> bool:
        return self.now >= self.ledger_from_s

    def run(self) -> e.End:
        """Until a captain ends it; AssertionError when something is against the law."""
        self.captaincy.begin()
        self.strikes.begin()
        while self.end is None:
            self.now, number, happen = heapq.heappop(self._queue)
            assert number < _MOST_EVENTS, "there is no end of events"
            happen()
            for worker in self.hands:
                worker.look_up()
            self.law.judge_moment()
        self.law.judge_end(self.end)
        return self.end

    def later(self, delay_s: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.now + delay_s, next(self._order), happen))

    def delay(self) -> float:
        """Of a message, or until a process notices something: mostly short."""
        return self.chance.expovariate(20.0) if self.chance.random() < 0.9 else self.chance.uniform(0.0, 4.0)

    def succeed(self, lost: Captaincy) -> None:
        """The lease goes to another one, unless the last one has come back in time."""
        if self.end is not None or lost.acts or self.captaincy is not lost:
            return
        if not self.has_ledger:
            self.later(1.0, lambda: self.succeed(lost))
            return
        captain = Captain.successor(self.terms, lost.captain.term + 1, lost.standing)
        self.captaincy = Captaincy(self, captain, lost.processes)
        self.captaincy.begin()
