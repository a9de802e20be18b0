"""The first half of a step, for one worker: its replicas are computed, and their partials published.

Whatever is published stays true when its owner dies. So before a partial is changed it is withdrawn, and after a
change of the crew everybody finds in the table what there is, and computes only what is missing.
"""

from collections.abc import Callable, Iterable, Iterator

from holdfast.faults import reached
from holdfast.planes.words import fence
from holdfast.step.gradients import Conflict, Sink
from holdfast.step.memory import Memory
from holdfast.step.places import Seat
from holdfast.step.replica import ReplicaWork
from holdfast.step.tree import Node, children, largest_cover, nodes_within, parent

_HELD = 2
"""Partials that a worker keeps apart. Adding them up early saves memory and costs a pass over it; `apply` would add
them in the cache."""


class Gathering:
    """Computes and publishes for one seat. `pause` is called at each safe point and may raise."""

    def __init__(self, memory: Memory, work: ReplicaWork, sink: Sink, seat: int, pause: Callable[[], None]) -> None:
        room = memory.layout.room
        self._memory = memory
        self._work = work
        self._sink = sink
        self._pause = pause
        self._seat = seat
        self._root = Node(0, room.replicas)
        first = seat * room.slots_per_seat
        self._slots = range(first, first + room.slots_per_seat)
        self._held: dict[Node, int] = {}

    def gather(self, step: int, share: range) -> None:
        """Compute those replicas of the share that no published partial holds."""
        present = self._memory.published(step)
        self._held = {node: slot for node, slot in present.items() if slot in self._slots}
        held = replicas_in(present)
        for low, high in _runs(share, held):
            for node in nodes_within(self._root, low, high):
                for unit in _units(node):
                    self._compute(step, unit)
                    self._merge_surplus(step)

    def _compute(self, step: int, unit: Node) -> None:
        slot = self._free()
        while True:
            try:
                return self._compute_in(step, unit, slot)
            except Conflict:
                # The slot is spoilt, and the sink now knows of one more parameter to send the ordinary way.
                self._forget(unit.low)

    def _compute_in(self, step: int, unit: Node, slot: int) -> None:
        for replica in range(unit.low, unit.low + unit.size):
            self._pause()
            self._forget(unit.low)
            self._begin(step, replica)
            self._work.compute(step, replica, slot, adding=replica > unit.low)
            self._publish(step, Node(unit.low, replica + 1 - unit.low), slot)
            self._beat()

    def _merge_surplus(self, step: int) -> None:
        """Add neighbours together, smallest first, until few enough are held or none are neighbours."""
        while len(self._held) > _HELD:
            pair = self._neighbours()
            if pair is None:
                return
            above, left, right = pair
            into, other = self._held[left], self._held[right]
            self._forget(left.low)
            self._sink.merge(into, other)
            self._memory.slot(into).stats.add_(self._memory.slot(other).stats)
            self._memory.slot(into).deltas.add_(self._memory.slot(other).deltas)
            self._publish(step, above, into)
            self._forget(right.low)

    def _neighbours(self) -> tuple[Node, Node, Node] | None:
        for left in sorted(self._held, key=lambda node: (node.size, node.low)):
            above = parent(self._root, left)
            if above is not None and left.low == above.low:
                right = children(above)[1]
                if right in self._held and children(above)[0] == left:
                    return above, left, right
        return None

    def _publish(self, step: int, node: Node, slot: int) -> None:
        fence("partial.computed")
        self._memory.publish(step, node, slot)
        reached("partial.published")
        self._held[node] = slot

    def _forget(self, low: int) -> None:
        self._memory.withdraw(low)
        fence("partial.withdrawn")
        self._held = {node: slot for node, slot in self._held.items() if node.low != low}

    def _free(self) -> int:
        used = set(self._held.values())
        return next(slot for slot in self._slots if slot not in used)

    def _begin(self, step: int, replica: int) -> None:
        """Say where this worker is, for whoever wants to know where it died."""
        self._memory.seats[self._memory.seat_cell(self._seat, Seat.COMPUTING)] = step + 1 << 24 | replica + 1
        reached("replica.begun")

    def _beat(self) -> None:
        seats, cell = self._memory.seats, self._memory.seat_cell
        seats[cell(self._seat, Seat.COMPUTING)] = 0
        seats[cell(self._seat, Seat.BEATS)] += 1
        seats[cell(self._seat, Seat.REPLICAS)] += 1
        seats[cell(self._seat, Seat.BUSY_US)] = int(self._work.busy_s * 1e6)


def replicas_in(present: Iterable[Node]) -> set[int]:
    return {replica for low, size in present for replica in range(low, low + size)}


def cover(memory: Memory, step: int) -> dict[Node, int]:
    """The published partials of a fully gathered step, none inside another, by slot."""
    present = memory.published(step)
    return {node: present[node] for node in largest_cover(present)}


def _runs(share: range, held: set[int]) -> Iterator[tuple[int, int]]:
    """The stretches of the share that are not held yet."""
    start = share.start
    for replica in (*share, share.stop):
        if replica in held or replica == share.stop:
            if start < replica:
                yield start, replica
            start = replica + 1


def _units(node: Node) -> Iterator[Node]:
    """The parts that are computed into one slot at once: whole nodes of at most two replicas."""
    if node.size <= 2:
        yield node
    else:
        for child in children(node):
            yield from _units(child)
