"""A bug is found, and shown by a short story: the simulator that finds nothing must be able to find something."""

from collections.abc import Callable

import pytest
from plan import plan_of
from shrink import breach, shrunk, story

from holdfast.run import duty as d
from holdfast.run import events as e
from holdfast.run.captain import Captain

ENOUGH, FEW = 200, 5


def impatient_captain(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait for those whom it leaves out of the view."""
    propose = Captain._propose

    def hasty(self: Captain, cuts: tuple[int, ...] = ()) -> object:
        yield from propose(self, cuts)
        self.awaited &= self.view.ranks.keys()

    monkeypatch.setattr(Captain, "_propose", hasty)


def silent_captain(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says everything once."""
    monkeypatch.setattr(Captain, "_remind", lambda self: iter(()))


def blaming_captain(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes time in which it slept for the workers' silence."""
    monkeypatch.setattr("holdfast.run.captain._UNSEEN_S", float("inf"))


def forgetful_captain(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not care which epoch somebody has accepted."""
    told = Captain._told

    def careless(self: Captain, event: e.Event) -> object:
        if isinstance(event, e.Accepted):
            event = e.Accepted(event.worker, self.view.epoch)
        return told(self, event)

    monkeypatch.setattr(Captain, "_told", careless)


def gullible_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not look at terms."""
    handle = d.Duty.handle

    def trusting(self: d.Duty, event: d.Event, now: float) -> list[d.Action]:
        if isinstance(event, d.Heard) and event.message["term"] < self.term:
            event = d.Heard({**event.message, "term": self.term})
        return handle(self, event, now)

    monkeypatch.setattr(d.Duty, "handle", trusting)


@pytest.mark.parametrize(
    ("plant", "first_seed"),
    [
        (impatient_captain, 0),
        (silent_captain, 400),
        (blaming_captain, 200),
        (forgetful_captain, 0),
        (gullible_worker, 400),
    ],
)
def test_a_planted_bug_is_found_and_shown_by_few_faults(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None], first_seed: int
) -> None:
    plant(monkeypatch)
    plans = map(plan_of, range(first_seed, first_seed + ENOUGH))
    broken = next(plan for plan in plans if len(plan.faults) > FEW and breach(plan) is not None)
    small = shrunk(broken)
    assert breach(small) is not None
    assert len(small.faults) <= FEW
    assert all(str(fault) in story(broken, small) for fault in small.faults)
    monkeypatch.undo()
    assert breach(small) is None
