"""The witness remembers what happened, and kills whom it was told to, once, half-way."""

import os
import signal

import pytest
from scenes import Clock, killed_and_replaced, snapshot, started

from holdfast.cli.demo.witness import Moment, Witness
from holdfast.run.events import Note


def test_lives_are_told_from_the_notes() -> None:
    witness = killed_and_replaced(Clock())
    lives = [(life.worker, life.pid, life.started, life.joined, life.died) for life in witness.lives]
    assert lives == [(0, 10, 0.0, 2.0, None), (1, 11, 0.0, 2.0, 6.0), (2, 12, 6.0, 8.0, None)]
    assert witness.replacement is witness.lives[2]
    assert witness.seconds == 10.0


def test_a_replacement_that_never_joined_is_none() -> None:
    witness = killed_and_replaced(Clock())
    witness.lives[2].joined = None
    assert witness.replacement is None


def test_without_a_death_nobody_is_replaced() -> None:
    witness = Witness()
    witness.note(started(0, 10), "", 0)
    witness.note(Note("view", "view 1: workers 0"), "", 0)
    assert witness.replacement is None


def test_the_victim_is_killed_once_and_not_before_the_half(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))
    witness = Witness(victim=1)
    witness.note(started(0, 10), "", 0)
    witness.note(started(1, 11), "", 0)
    witness.progress(snapshot(49))
    assert not killed
    witness.progress(snapshot(50))
    witness.progress(snapshot(51))
    assert killed == [(11, signal.SIGKILL)]
    assert [moment.kind for moment in witness.moments] == ["started", "started", "kill"]


def test_who_is_dead_already_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process id may be somebody else's by now."""
    monkeypatch.setattr(os, "kill", lambda pid, number: pytest.fail(f"{pid} was sent {number}"))
    witness = Witness(victim=1)
    witness.note(started(1, 11), "", 0)
    witness.note(Note("died", "worker 1 died: it ended with exit code 1", 1), "", 0)
    witness.progress(snapshot(50))


def test_moments_are_heard_as_they_happen_and_told_at_the_end() -> None:
    heard: list[Moment] = []
    clock = Clock()
    witness = Witness(hear=heard.append, clock=clock)
    clock.now += 1.5
    witness.measured(7, {"auc": 0.75})
    assert heard == [Moment(1.5, 7, "measured", "auc 0.7500")]
    assert witness.told() == [{"seconds": 1.5, "step": 7, "kind": "measured", "text": "auc 0.7500"}]
