"""The worker's answers to single events; whole histories are in tests/simulator."""

from typing import Any

from holdfast.run.duty import (
    Action,
    Cut,
    Duty,
    Event,
    Greet,
    Heard,
    Leave,
    Noticed,
    Rested,
    Said,
    Send,
    Tick,
    Work,
)
from holdfast.run.view import View

BUILT = {"kind": "built", "digest": "d"}


class Told:
    """Worker 3, and what it is told; it has been welcomed under term 1."""

    def __init__(self) -> None:
        self.duty = Duty(3)
        self.now = 0.0
        assert self(Tick()) == [Greet({"kind": "hello", "worker": 3, "term": 0, "told": []})]
        assert self.hear("welcome") == []

    def __call__(self, event: Event, now: float | None = None) -> list[Action]:
        self.now = self.now if now is None else now
        return self.duty.handle(event, self.now)

    def hear(self, kind: str, term: int = 1, **more: Any) -> list[Action]:
        return self(Heard({"kind": kind, "term": term, **more}))

    def propose(self, epoch: int, term: int = 1, workers: tuple[int, ...] = (3, 4)) -> list[Action]:
        members = [[worker, seat] for seat, worker in enumerate(workers)]
        return self.hear("propose", term, epoch=epoch, members=members, cuts=[])

    def commit(self, epoch: int, term: int = 1) -> list[Action]:
        return self.hear("commit", term, epoch=epoch)

    def wait(self, seconds: int) -> list[tuple[float, Action]]:
        """What it does by itself, and after how many seconds."""
        began = self.now
        return [(after, action) for after in range(1, seconds + 1) for action in self(Tick(), began + after)]


def accepted(epoch: int) -> Send:
    return Send({"kind": "accepted", "epoch": epoch})


def running(epoch: int) -> Send:
    return Send({"kind": "running", "epoch": epoch})


def working() -> Told:
    """Under epoch 5."""
    tell = Told()
    assert tell.propose(5) == [accepted(5)]
    assert tell.commit(5) == [running(5), Work(View(5, ((3, 0), (4, 1))))]
    return tell


def test_every_question_is_answered_however_often_it_comes() -> None:
    tell = Told()
    assert [tell.propose(5), tell.propose(5)] == [[accepted(5)]] * 2
    assert tell.commit(5)[0] == running(5)
    assert [tell.commit(5), tell.commit(5)] == [[running(5)]] * 2


def test_what_is_of_the_past_does_nothing() -> None:
    tell = working()
    assert tell(Rested("interrupted")) == []
    assert tell.commit(5) == []  # never twice under one epoch
    assert tell.propose(7) == [accepted(7)]
    assert [tell.propose(6), tell.commit(6), tell.commit(5)] == [[], [], []]
    assert tell.commit(8) == []  # it never heard of that view
    assert tell(Noticed(2)) == []
    assert [tell.propose(9), tell.commit(7), tell.hear("quit"), tell.hear("welcome")] == [[], [], [], []]
    assert not tell.duty.known


def test_who_works_agrees_when_it_has_come_to_a_safe_point() -> None:
    tell = working()
    assert tell.propose(6) == []
    assert tell.propose(7) == []
    assert tell(Rested("finished")) == [accepted(7)]


def test_who_is_not_in_a_view_does_not_work() -> None:
    tell = Told()
    assert tell.propose(5, workers=(4,)) == [accepted(5)]
    assert tell.commit(5) == []
    assert tell.hear("quit") == [Leave()]


def test_what_was_told_is_told_again_until_it_is_heard() -> None:
    tell = Told()
    assert tell(Said(BUILT)) == [Send(BUILT)]
    assert tell.wait(35) == [(1, Send(BUILT)), (3, Send(BUILT)), (7, Send(BUILT)), (15, Send(BUILT)), (31, Send(BUILT))]
    tell.hear("heard", what="built", number=0)
    assert tell.wait(100) == []
    assert tell(Said(BUILT)) == []


def test_the_end_under_an_epoch_is_no_news_under_a_newer_one() -> None:
    tell = working()
    done = {"kind": "done", "epoch": 5, "stopped": True}
    assert tell(Rested("stopped")) == [Send(done)]
    assert tell.propose(5) == [accepted(5)]  # an old packet
    assert tell.wait(1) == [(1, Send(done))]
    tell.propose(6)
    assert tell.wait(100) == []


def test_a_captain_to_come_is_told_everything() -> None:
    tell = working()
    tell(Said(BUILT))
    tell.hear("heard", what="built", number=0)
    told = [BUILT, {"kind": "accepted", "epoch": 5}, {"kind": "running", "epoch": 5}]
    tell(Noticed(2))
    assert tell(Tick()) == [Greet({"kind": "hello", "worker": 3, "term": 2, "told": told})]
    assert tell.hear("welcome", term=2) == []
    assert tell.wait(1) == [(1, Send(BUILT))]


def test_a_captain_that_speaks_first_is_greeted_too() -> None:
    """What it asks is answered, but on a line that may lead to the captain before."""
    tell = working()
    assert tell.propose((2 << 16) + 1, term=2) == []
    assert tell(Rested("interrupted")) == [accepted((2 << 16) + 1)]
    (greeting,) = tell(Tick())
    assert isinstance(greeting, Greet)
    assert greeting.message["told"] == [{"kind": "accepted", "epoch": (2 << 16) + 1}]


def test_a_welcome_that_was_not_read_yet_is_no_reason_to_greet_again() -> None:
    duty = Duty(3)
    duty.handle(Tick(), 0.0)
    duty.handle(Noticed(1), 10.0)  # the worker was busy building
    duty.handle(Heard({"kind": "welcome", "term": 1}), 10.0)
    assert duty.handle(Tick(), 10.0) == []


def test_a_captain_is_looked_for_until_it_answers() -> None:
    tell = Told()
    tell(Cut())
    (greeting,) = tell(Tick())
    assert isinstance(greeting, Greet)
    assert tell.wait(16) == [(1, greeting), (3, greeting), (7, greeting), (15, greeting)]
    tell(Cut(), now=tell.now + 0.1)  # nobody listens there, and that is known at once
    assert tell(Tick(), now=tell.now + 0.2) == []
    assert tell(Tick(), now=tell.now + 0.1) == [greeting]


def test_evaluations_are_kept_until_they_are_heard_but_not_without_end() -> None:
    tell = Told()
    tell(Cut())
    rows = [{"kind": "evaluated", "step": step, "metrics": {}} for step in range(20)]
    for row in rows:
        tell(Said(row))
    (greeting,) = tell(Tick())
    assert isinstance(greeting, Greet)
    assert greeting.message["told"] == []
    assert tell.hear("welcome") == [Send(row) for row in rows[-16:]]
    for step in range(20):
        tell.hear("heard", what="evaluated", number=step)
    tell(Noticed(2))
    assert tell.hear("welcome", term=2) == [Send(rows[-1])]
