"""What workers share: the words that the production gauges read, and a model of partials and pieces.

Each replica of each step must be computed and published once, whatever the view, and each piece go through each step
once, after all replicas are there.
"""

from holdfast.planes.words import words_of
from holdfast.run.gauges import Gauges
from holdfast.step.places import HEADER_WORDS, SEAT_WORDS, Header

PIECES = 3


class _Arena:
    """As much of one as the gauges look at."""

    def __init__(self, seats: int) -> None:
        self._bytes = memoryview(bytearray(8 * (HEADER_WORDS + SEAT_WORDS * seats)))

    def bytes_at(self, offset: int, size: int) -> memoryview:
        return self._bytes[offset : offset + size]


class Shared:
    def __init__(self, seats: int, replicas: int) -> None:
        self._arena = arena = _Arena(seats)
        self._seats = seats
        self.header = words_of(arena.bytes_at(0, 8 * HEADER_WORDS))
        self.seats = words_of(arena.bytes_at(8 * HEADER_WORDS, 8 * SEAT_WORDS * seats))
        self.published = [0] * replicas
        """By replica: 1 + the step of its partial."""
        self.pieces = [0] * PIECES
        """By piece: the steps that it has been through."""
        self.orders = (0, False)
        """1 + the step for which there are orders, and whether it is the last."""

    def gauges(self) -> Gauges:
        """Each captain has its own."""
        layout = {"seats": 8 * HEADER_WORDS, "num_seats": self._seats, "steps": 0, "history": 0, "times": 0}
        return Gauges(self._arena, layout)  # type: ignore[arg-type]

    @property
    def step(self) -> int:
        return min(self.pieces)

    @property
    def committed(self) -> int:
        return int(self.header[Header.COMMITTED])

    def publish(self, step: int, replica: int) -> None:
        before = self.published[replica]
        assert before != step + 1, f"replica {replica} of step {step} is computed twice"
        assert before == step, f"replica {replica} is at step {before - 1}, and is computed for {step}"
        self.published[replica] = step + 1

    def apply(self, step: int, piece: int) -> None:
        missing = [replica for replica, tag in enumerate(self.published) if tag != step + 1]
        assert not missing, f"step {step} is applied without the replicas {missing}"
        assert self.pieces[piece] == step, f"piece {piece} is at step {self.pieces[piece]}, and {step} is applied"
        self.pieces[piece] = step + 1

    def give_orders(self, step: int, stop: bool) -> None:
        if self.orders[0] != step + 1:
            self.orders = step + 1, stop

    def commit(self, steps: int) -> None:
        assert min(self.pieces) >= steps, f"step {steps - 1} is committed and not all of it is done"
        assert steps <= self.committed + 1, f"a step was skipped: {steps} are committed, {self.committed} were"
        self.header[Header.COMMITTED] = max(self.committed, steps)
