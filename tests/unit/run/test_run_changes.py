"""The changes of a run: in order, made once, and from one step on whoever asks."""

import threading
from pathlib import Path

import pytest

from holdfast import Job
from holdfast.errors import JobError
from holdfast.run.changes import Change, Changes

JOB = Job(model="mlp", data="random", steps=100, batch=8)


def test_a_change_holds_from_the_step_in_which_the_leader_first_sees_it(tmp_path: Path) -> None:
    changes = Changes(tmp_path / "changes")
    assert changes.holding(3, 0) == 0
    assert changes.add(JOB, ["optimizer.lr=0.5"]) == 1
    assert changes.all() == [Change(("optimizer.lr=0.5",))]
    assert changes.holding(4, 1) == 1
    assert changes.add(JOB, ["optimizer.lr=0.25", "train.clip_value=1.0"]) == 2
    assert changes.holding(9, 2) == 2
    assert [change.from_step for change in changes.all()] == [4, 9]
    assert changes.job(JOB, 1).optimizer.lr == 0.5
    assert changes.job(JOB, 2).optimizer.lr == 0.25
    assert changes.job(JOB, 0) == JOB


def test_who_repeats_the_steps_finds_them_as_they_were(tmp_path: Path) -> None:
    first = Changes(tmp_path / "changes")
    for number, step in ((1, 4), (2, 9)):
        first.add(JOB, ["optimizer.lr=0.5"])
        first.holding(step, number)
    again = Changes(tmp_path / "changes")
    assert [again.holding(step, 2) for step in (0, 3, 4, 8, 9, 10)] == [0, 0, 1, 1, 2, 2]


def test_a_change_never_holds_before_the_one_before_it(tmp_path: Path) -> None:
    """After a power cut a run is at an earlier step again, and what was changed later is still to come."""
    Changes(tmp_path).add(JOB, ["optimizer.lr=0.5"])
    Changes(tmp_path).holding(50, 1)
    Changes(tmp_path).add(JOB, ["optimizer.lr=0.25"])
    assert Changes(tmp_path).holding(20, 2) == 0
    assert [change.from_step for change in Changes(tmp_path).all()] == [50, 50]


def test_what_cannot_be_changed_leaves_nothing(tmp_path: Path) -> None:
    changes = Changes(tmp_path)
    with pytest.raises(JobError):
        changes.add(JOB, ["train.seed=3"])
    assert list(tmp_path.iterdir()) == []


def test_changes_are_judged_by_the_job_as_it_is_by_then(tmp_path: Path) -> None:
    changes = Changes(tmp_path)
    changes.add(JOB, ['schedule={kind="step", every_steps=5}'])
    changes.add(JOB, ["schedule.every_steps=7"])
    assert changes.job(JOB, 2).schedule.model_dump()["every_steps"] == 7


def test_captains_that_overlap_give_every_number_once(tmp_path: Path) -> None:
    numbers: list[int] = []
    threads = [
        threading.Thread(target=lambda: numbers.append(Changes(tmp_path).add(JOB, ["optimizer.lr=0.5"])))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 9))
    assert len(list(tmp_path.iterdir())) == 8


def test_a_copy_has_what_held_before_a_step(tmp_path: Path) -> None:
    old, new = Changes(tmp_path / "old"), Changes(tmp_path / "new")
    for number, step in ((1, 4), (2, 9)):
        old.add(JOB, ["optimizer.lr=0.5"])
        old.holding(step, number)
    old.copy_to(new, before_step=9)
    assert new.all() == [Change(("optimizer.lr=0.5",), 4)]
