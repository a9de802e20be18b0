"""The captain's answers to single events; whole histories are in tests/simulator."""

import json
from dataclasses import replace

from holdfast.run.captain import Captain, Terms
from holdfast.run.events import (
    Accepted,
    Action,
    Begin,
    Built,
    Commit,
    Confirm,
    Done,
    Drain,
    End,
    Evaluated,
    Event,
    Failed,
    Greeted,
    Hung,
    Kill,
    Leaves,
    Lost,
    Note,
    Pause,
    Place,
    Propose,
    Release,
    Remind,
    Running,
    Scale,
    Spawn,
    TakeOver,
    Tick,
    Unpause,
)
from holdfast.run.view import View

PATIENCE_S = 20.0
TICK_S = 0.25


class Told:
    """A captain who is told one thing after the other; notes and confirmations are left out of the answers."""

    def __init__(self, workers: int = 2, at_least: int = 1, restarts: int = 3) -> None:
        self.captain = Captain(Terms(workers, at_least, restarts, workers + 2, PATIENCE_S))
        self.notes: list[Note] = []
        self.confirmed: list[Confirm] = []
        self.now = 0.0
        assert self(Begin()) == [Spawn(number) for number in range(workers)]

    def __call__(self, event: Event, now: float = 0.0) -> list[Action]:
        self.now = max(self.now, now)
        actions = self.captain.handle(event, self.now)
        self.notes += [action for action in actions if isinstance(action, Note)]
        self.confirmed += [action for action in actions if isinstance(action, Confirm)]
        return [action for action in actions if not isinstance(action, Note | Confirm)]

    def wait(self, seconds: float) -> list[Action]:
        """Time passes, and the captain looks again and again; all that it does meanwhile but reminding."""
        found: list[Action] = []
        for _ in range(round(seconds / TICK_S)):
            found += [action for action in self(Tick(), self.now + TICK_S) if not isinstance(action, Remind)]
        return found


def stepping(**terms: int) -> Told:
    """Two workers in a committed view."""
    tell = Told(**terms)
    tell(Built(0, "d"))
    tell(Built(1, "d"))
    tell(Accepted(0, 1))
    assert tell(Accepted(1, 1)) == [Commit(View(1, ((0, 0), (1, 1))))]
    return tell


def test_the_first_view_waits_for_all() -> None:
    tell = Told()
    assert tell(Built(1, "d")) == []
    assert tell.wait(2.0) == []
    assert tell(Built(0, "d")) == [Propose(View(1, ((0, 0), (1, 1))), (0, 1))]


def test_the_first_view_does_not_wait_for_ever() -> None:
    tell = Told(workers=3, at_least=1)
    tell(Built(2, "d"))
    assert tell.wait(PATIENCE_S - TICK_S) == []
    assert tell.wait(2 * TICK_S) == [Propose(View(1, ((2, 0),)), (2,))]


def test_but_for_as_many_as_there_must_be() -> None:
    tell = Told(workers=3, at_least=2)
    tell(Built(2, "d"))
    assert tell.wait(3 * PATIENCE_S) == []
    assert tell(Built(0, "d")) == [Propose(View(1, ((0, 0), (2, 1))), (0, 2))]


def test_one_consent_is_not_enough_and_old_ones_do_not_count() -> None:
    tell = stepping()
    assert tell(Lost(1, "killed"), 1.0) == [Spawn(2), Propose(View(2, ((0, 0),)), (0,))]
    assert tell(Accepted(0, 1), 1.0) == []
    assert tell(Built(2, "d"), 2.0) == [Propose(View(3, ((0, 0), (2, 1))), (0, 2))]
    assert tell(Accepted(0, 2), 2.0) == []
    assert tell(Accepted(0, 3), 2.0) == []
    assert tell(Accepted(2, 3), 2.0) == [Commit(View(3, ((0, 0), (2, 1))))]


def test_the_run_is_over_when_all_say_so() -> None:
    tell = stepping()
    assert tell(Done(0, 1, False)) == []
    assert tell(Done(1, 1, False)) == [End("finished")]
    assert tell(Lost(1, "late")) == []


def test_nobody_is_expected_to_make_progress_after_the_end() -> None:
    """When one does not come to the end, the others are not stuck because they wait for it."""
    tell = stepping()
    assert tell.captain.expected() == [(0, 0), (1, 1)]
    tell(Done(0, 1, False))
    assert tell.captain.expected() == [(1, 1)]
    tell(Lost(1, "killed"))
    assert tell.captain.expected() == []


def test_an_end_under_an_old_view_does_not_count() -> None:
    tell = stepping()
    tell(Done(0, 1, False))
    tell(Lost(1, "killed"))
    assert tell(Done(0, 1, False)) == []
    tell(Accepted(0, 2))
    assert tell(Done(0, 2, True)) == [End("stopped")]


def test_the_hung_are_killed_once_and_left_out_when_they_are_gone() -> None:
    tell = stepping()
    assert tell(Hung(1, "no progress")) == [Kill(1)]
    assert tell(Hung(1, "no progress")) == []
    assert tell(Lost(1, "killed")) == [Spawn(2), Propose(View(2, ((0, 0),)), (0,))]


def test_who_does_not_consent_in_time_is_killed() -> None:
    tell = stepping()
    tell(Lost(1, "killed"))
    assert tell.wait(PATIENCE_S - TICK_S) == []
    assert tell.wait(2 * TICK_S) == [Kill(0)]
    assert tell.wait(PATIENCE_S) == []
    assert tell.notes[-1].text == "worker 0 did not answer for 20 s"


def test_who_does_not_come_to_the_end_with_the_others_is_killed() -> None:
    tell = stepping()
    assert tell.wait(3 * PATIENCE_S) == []
    tell(Done(1, 1, False))
    assert tell.wait(PATIENCE_S - TICK_S) == []
    assert tell.wait(2 * TICK_S) == [Kill(0)]


def test_who_may_go_and_does_not_is_killed() -> None:
    tell = stepping()
    tell(Drain(1))
    tell(Accepted(0, 2))
    assert tell(Accepted(1, 2))[1:] == [Release(1)]
    tell(Running(0, 2))
    found = tell.wait(PATIENCE_S + TICK_S)
    assert found == [Release(1)] * (len(found) - 1) + [Kill(1)]


def test_a_captain_that_was_away_blames_nobody() -> None:
    """It was stopped, or could not be sure of its lease; however late its clock says that it is."""
    tell = stepping()
    tell(Lost(1, "killed"))
    for _ in range(10):
        assert [type(action) for action in tell(Tick(), tell.now + 1e6)] in ([], [Remind])
    assert tell(Accepted(0, 2)) == [Commit(View(2, ((0, 0),)))]


def test_who_does_not_answer_is_told_again_and_nobody_else() -> None:
    tell = stepping()
    proposal = tell(Lost(1, "killed"))[-1]
    assert isinstance(proposal, Propose)
    assert reminded(tell, 17.0) == [(1.0, (0,), False), (3.0, (0,), False), (7.0, (0,), False), (15.0, (0,), False)]
    tell(Accepted(0, 2))
    assert reminded(tell, 70.0) == [(at, (0,), True) for at in (1.0, 3.0, 7.0, 15.0, 31.0, 47.0, 63.0)]
    tell(Running(0, 2))
    assert reminded(tell, 100.0) == []


def reminded(tell: Told, seconds: float) -> list[tuple[float, tuple[int, ...], bool]]:
    began = tell.now
    return [
        (tell.now - began, action.workers, action.committed)
        for _ in range(round(seconds / TICK_S))
        for action in tell(Tick(), tell.now + TICK_S)
        if isinstance(action, Remind)
    ]


def test_what_was_heard_is_confirmed_however_often_it_comes() -> None:
    tell = stepping()
    tell.confirmed.clear()
    words: list[Event] = [Built(0, "d"), Evaluated(0, 40), Done(1, 1, False), Done(1, 0, False), Leaves(0)]
    for word in words * 2:
        tell(word)
    once = [Confirm(0, "built"), Confirm(0, "evaluated", 40), Confirm(1, "done", 1), Confirm(1, "done", 0)]
    assert tell.confirmed == [*once, Confirm(0, "leaves")] * 2


def test_who_greets_is_told_what_it_has_not_answered() -> None:
    tell = stepping()
    view = tell.captain.view
    assert tell(Greeted(0)) == [Remind(view, (0,), True)]
    tell(Running(0, 1))
    assert tell(Greeted(0)) == []
    tell(Drain(1))
    without = tell.captain.view
    assert tell(Greeted(1)) == [Remind(without, (1,), False)]
    tell(Accepted(1, 2))
    assert tell(Greeted(1)) == []
    tell(Accepted(0, 2))
    assert tell(Greeted(1)) == [Release(1)]


def test_deaths_are_made_good_as_often_as_was_agreed() -> None:
    tell = Told(workers=2, restarts=1)
    assert tell(Lost(0, "killed"), 0.0) == []  # it had not been built, so the next one comes a little later
    assert tell(Lost(1, "killed"), 0.1) == [End("failed", tell.captain._too_few("killed"))]
    tell = Told(workers=3, restarts=1)
    tell(Lost(0, "killed"), 0.0)
    tell(Lost(1, "killed"), 0.1)
    assert tell.wait(10.0) == [Spawn(3)]


def test_a_place_that_kills_one_worker_after_the_other_is_poison() -> None:
    tell, at = stepping(restarts=100), Place(step=7, replica=1)
    places = [at, Place(step=7, replica=0), at, at]
    for worker, place in zip([1, 0, 2, 3], places, strict=True):
        assert not any(isinstance(action, End) for action in tell(Lost(worker, "segfault", place)))
        tell.wait(10.0)
    (end,) = tell(Lost(4, "segfault", at))
    assert isinstance(end, End)
    assert "replica 1 of step 7 killed 3 workers one after the other" in (end.error or "")
    assert "positions 0 to 0" in (end.error or "")  # of a batch that this captain was not told of


def test_a_worker_that_is_to_leave_agrees_to_it_first() -> None:
    tell = stepping()
    without = View(2, ((0, 0),))
    assert tell(Drain(1)) == [Propose(without, (0, 1))]
    assert tell(Accepted(0, 2)) == []
    assert tell(Accepted(1, 2)) == [Commit(without), Release(1)]
    assert tell(Lost(1, "it ended with exit code 0")) == []
    assert tell.captain.deaths == 0
    assert tell.notes[-1].kind == "left"


def test_who_was_given_notice_is_replaced() -> None:
    tell = stepping()
    assert tell(Leaves(1)) == [Spawn(2), Propose(View(2, ((0, 0),)), (0, 1))]
    assert tell(Leaves(1)) == []


def test_who_is_to_leave_works_on_when_there_is_nobody_else() -> None:
    """Its successor died, and there is no more to come: a run that goes on is better than none."""
    tell = stepping(restarts=0)
    tell(Leaves(1))
    assert tell(Lost(0, "killed")) == [Propose(View(3, ((1, 1),)), (1,))]
    assert tell(Accepted(1, 3)) == [Commit(View(3, ((1, 1),)))]
    assert tell(Lost(2, "killed")) == []
    assert tell(Lost(1, "left")) != []


def test_and_until_there_is() -> None:
    tell = stepping()
    tell(Drain(1))
    tell(Accepted(1, 2))
    assert tell(Lost(0, "killed")) == [Spawn(2), Propose(View(3, ((1, 1),)), (1,))]
    assert tell(Accepted(1, 3)) == [Commit(View(3, ((1, 1),)))]
    assert tell(Built(2, "d")) == [Propose(View(4, ((2, 0),)), (1, 2))]


def test_who_was_given_notice_has_its_time_of_grace_and_no_more() -> None:
    tell = stepping()
    tell.captain.terms = replace(tell.captain.terms, grace_s=5.0)
    tell(Leaves(0))
    assert tell.wait(4.5) == []
    assert tell.wait(1.0) == [Kill(0)]
    assert "worker 0 was still there 5 s after notice" in [note.text for note in tell.notes]
    assert tell.captain.deaths == 0


def test_the_last_one_has_all_the_time_it_needs() -> None:
    tell = stepping()
    tell.captain.terms = replace(tell.captain.terms, grace_s=5.0)
    tell(Lost(1, "died"))
    tell(Accepted(0, 2))
    tell(Leaves(0))
    tell(Accepted(0, 3))
    assert tell.wait(30.0) == []


def test_a_pause_is_a_view_of_nobody() -> None:
    tell = stepping()
    assert tell(Pause()) == [Propose(View(2, ()), (0, 1))]
    tell(Accepted(0, 2))
    assert tell(Accepted(1, 2)) == [Commit(View(2, ()))]
    assert tell(Lost(1, "killed"), 5.0) == [Spawn(2)]
    assert tell(Built(2, "d"), 6.0) == []
    assert tell(Unpause(), 7.0) == [Propose(View(3, ((0, 0), (2, 1))), (0, 2))]


def test_who_is_given_notice_during_a_pause_may_go_at_once() -> None:
    tell = stepping()
    tell(Pause())
    tell(Accepted(0, 2))
    tell(Accepted(1, 2))
    assert tell(Leaves(1)) == [Spawn(2), Release(1)]
    assert tell(Leaves(1)) == []


def test_a_crew_is_scaled_up_at_once_and_down_by_the_newest() -> None:
    tell = stepping()
    assert tell(Scale(3)) == [Spawn(2)]
    assert tell(Scale(1)) == [Kill(2), Propose(View(2, ((0, 0),)), (0, 1))]
    assert tell(Lost(2, "killed")) == []


def test_a_successor_goes_on_under_the_view_that_was_committed() -> None:
    tell = stepping()
    heir = Captain.successor(tell.captain.terms, 5, json.loads(json.dumps(tell.captain.standing())))
    assert heir.handle(TakeOver(1), 0.0) == []
    assert heir.view == View(1, ((0, 0), (1, 1)))
    (lost, spawn, proposal) = heir.handle(Lost(1, "killed"), 1.0)
    assert (lost, spawn) == (Note("died", "killed", 1), Spawn(2))
    assert isinstance(proposal, Propose)
    assert proposal.view.epoch == (5 << 16) + 1


def test_a_successor_hears_of_all_deaths_before_it_decides() -> None:
    tell = stepping()
    heir = Captain.successor(tell.captain.terms, 5, tell.captain.standing())
    for worker in (0, 1):
        assert heir.handle(Lost(worker, "died unseen"), 0.0) == [Note("died", "died unseen", worker)]
    assert heir.handle(TakeOver(1), 0.0) == []
    assert heir.handle(Tick(), 0.0) == [Spawn(2), Spawn(3)]


def test_a_successor_proposes_anew_what_was_only_proposed() -> None:
    tell = stepping()
    tell(Lost(1, "killed"))
    heir = Captain.successor(tell.captain.terms, 5, tell.captain.standing())
    (proposal,) = heir.handle(TakeOver(), 0.0)
    assert proposal == Propose(View((5 << 16) + 1, ((0, 0),)), (0,))


def test_a_successor_proposes_anew_when_workers_wait_for_a_view_that_it_does_not_know() -> None:
    """The captain before was stopped after it had announced one, and before it had written that down for this one."""
    tell = stepping()
    heir = Captain.successor(tell.captain.terms, 5, tell.captain.standing())
    (proposal,) = heir.handle(TakeOver(2), 0.0)
    assert proposal == Propose(View((5 << 16) + 1, ((0, 0), (1, 1))), (0, 1))


def test_a_successor_ends_whom_the_captain_before_was_about_to_end() -> None:
    tell = stepping()
    tell(Scale(3))
    assert Kill(2) in tell(Scale(2))
    heir = Captain.successor(tell.captain.terms, 5, tell.captain.standing())
    assert heir.handle(TakeOver(1), 0.0) == [Kill(2)]


def test_a_successor_lets_go_who_was_let_go() -> None:
    tell = stepping()
    tell(Drain(1))
    tell(Accepted(0, 2))
    tell(Accepted(1, 2))
    heir = Captain.successor(tell.captain.terms, 5, tell.captain.standing())
    assert heir.handle(TakeOver(2), 0.0) == [Release(1)]


def test_workers_that_die_while_they_are_built_come_back_more_slowly() -> None:
    tell = Told(workers=1, restarts=10)
    waits = []
    for worker in range(8):
        tell(Lost(worker, "out of memory"))
        died = tell.now
        while not tell(Tick(), tell.now + TICK_S):
            pass
        waits.append(tell.now - died)
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]


def test_a_model_that_is_built_differently_ends_the_run() -> None:
    tell = Told()
    tell(Built(0, "one"))
    (end,) = tell(Built(1, "two"))
    assert isinstance(end, End)
    assert end.status == "failed"
    assert "layout two instead of one" in (end.error or "")


def test_an_error_that_others_would_meet_ends_the_run() -> None:
    assert stepping()(Failed(1, "the loss is nan")) == [End("failed", "the loss is nan")]


def test_strangers_change_nothing() -> None:
    tell = stepping()
    before = repr(tell.captain)
    for event in (Built(9, "x"), Accepted(9, 1), Done(9, 1, False), Failed(9, "?"), Lost(9, "?"), Hung(9, "?")):
        assert tell(event) == []
    assert repr(tell.captain) == before


def test_a_successor_starts_whom_the_captain_before_still_owed() -> None:
    """Of the deaths that it hears of one is beyond the budget, but an earlier one was not."""
    tell = stepping(restarts=1)
    tell(Built(1, "d"))
    tell.captain.owed, tell.captain.deaths = 1, 2
    successor = Captain.successor(tell.captain.terms, 1, tell.captain.standing())
    successor.handle(Lost(1, "died unseen"), 0.0)
    successor.handle(TakeOver(), 0.0)
    assert Spawn(2) in successor.handle(Tick(), TICK_S)
