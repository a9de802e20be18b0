"""A crew far larger than any machine at hand: what a death costs the captain, and how many messages it takes."""

import time
from collections import deque
from itertools import pairwise

import pytest

from holdfast.run import events as e
from holdfast.run.balance import cuts_for
from holdfast.run.captain import Captain, Terms
from holdfast.run.letters import letters_of

PATIENCE_S = 60.0


class Crowd:
    """Workers who answer at once, each to a message of its own; and a count of messages both ways."""

    def __init__(self, size: int) -> None:
        self.messages = 0
        self.silent: set[int] = set()
        self.now = 0.0
        self.captain = Captain(Terms(size, 1, size, size + 2, PATIENCE_S), term=1)
        self.happen(e.Begin())
        assert self.captain.committed
        assert len(self.captain.view.members) == size

    def happen(self, event: e.Event) -> None:
        """All that comes of it, too."""
        events = deque([event])
        while events:
            actions = self.captain.handle(events.popleft(), self.now)
            if any(not isinstance(action, e.Note | e.Confirm | e.Remind) for action in actions):
                self.captain.standing()  # the driver writes it down
            for action in actions:
                self.messages += sum(len(list(workers)) for workers, _ in letters_of(action, 1))
                answers = self._answers(action)
                self.messages += len(answers)
                events += answers

    def wait(self, seconds: int) -> None:
        for _ in range(4 * seconds):
            self.now += 0.25
            self.happen(e.Tick())

    def _answers(self, action: e.Action) -> list[e.Event]:
        match action:
            case e.Spawn(worker):
                return [e.Built(worker, "same")]
            case e.Propose(view, asked):
                return [e.Accepted(worker, view.epoch) for worker in asked if worker not in self.silent]
            case e.Commit(view):
                return [e.Running(worker, view.epoch) for worker, _ in view.members if worker not in self.silent]
        return []


def test_messages_grow_with_the_crew_and_no_faster() -> None:
    began, died = zip(*(_messages(size) for size in (100, 1000, 10_000)), strict=True)
    for counts in (began, died):
        assert all(more <= 11 * fewer for fewer, more in pairwise(counts))


def _messages(size: int) -> tuple[int, int]:
    crowd = Crowd(size)
    before = crowd.messages
    crowd.happen(e.Lost(size // 2, "killed"))
    return before, crowd.messages - before


def test_among_ten_thousand_a_death_is_decided_in_less_than_a_second() -> None:
    """Of this process's time: from the death over two changes of the view, without it and with its successor."""
    crowd = Crowd(10_000)
    began = time.process_time()
    crowd.happen(e.Lost(5000, "killed"))
    took_s = time.process_time() - began
    assert crowd.captain.committed
    assert len(crowd.captain.view.members) == 10_000
    assert 5000 not in crowd.captain.view.ranks
    assert took_s < 1.0


@pytest.mark.parametrize("size", [10, 100])
def test_silence_is_answered_by_few_messages(size: int) -> None:
    """Half of the crew cannot be reached for an hour: each is told about as often as its patience has room for."""
    crowd = Crowd(size)
    crowd.silent = set(range(size // 2))
    crowd.happen(e.Pause())
    before = crowd.messages
    crowd.wait(59)
    assert crowd.messages - before == 6 * len(crowd.silent)
    crowd.wait(3600)
    assert crowd.messages - before < size // 2 * (3600 / 16 + 10)


def test_work_is_dealt_out_anew_in_a_crew_of_any_size() -> None:
    size = 10_000
    cuts = cuts_for([2.0] * (size // 2) + [1.0] * (size // 2), 3 * size, [3] * size)
    assert cuts is not None
    assert (cuts[0], cuts[-1]) == (4, 3 * size - 2)
