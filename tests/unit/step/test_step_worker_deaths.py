"""A whole worker dies at any moment of its run, and another goes on: to the same bits, history and metrics."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from mortal import each_moment, mortal
from rig import noise, rig
from torch import nn

from holdfast.job import AdamW, Job
from holdfast.planes.arena import Arena
from holdfast.planes.channel import Closed
from holdfast.run.changes import Changes
from holdfast.run.stepper import Stepper, Tools
from holdfast.run.view import View, announce_epoch
from holdfast.run.work import build_work
from holdfast.step.memory import Memory
from holdfast.step.places import Header

Said = list[dict[str, Any]]


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.2), nn.Linear(5, 3))


def job() -> Job:
    labels = torch.arange(32) % 3
    data = ((noise(32, 4), labels), (noise(5, 4, seed=2), labels[:5]))
    return Job(
        model=net,
        data=data,
        loss="cross_entropy",
        replicas=3,
        batch=16,
        steps=3,
        optimizer=AdamW(lr=0.01),
        clip_norm=0.5,
        checkpoint={"every_steps": 1},
        evaluate={"every_steps": 2, "batch": 2, "metrics": ["accuracy"]},
    )


def test_a_run_survives_the_death_of_its_leader_at_any_moment() -> None:
    undisturbed, said = run_with_a_death(None)
    assert [message["step"] for message in said] == [2, 3]
    deaths = 0
    for fuse in each_moment():
        state, heard = run_with_a_death(fuse)
        assert state == undisturbed
        # A report may come twice, since nobody knows whether it went out; it says the same then.
        assert {message["step"]: message for message in heard} == {message["step"]: message for message in said}
        deaths += fuse.blown
    assert deaths > 100


def run_with_a_death(fuse: Any) -> tuple[bytes, Said]:
    said: Said = []
    with rig(job()) as run:
        if fuse is not None:
            mine = Memory(Arena(run.memory.arena.fd, run.memory.arena.size), run.memory.layout)
            with mortal(mine, fuse):
                worker(run.job, mine, 0, said).run(view(run.memory, 1, 0), 0)
        outcome = worker(run.job, run.memory, 1, said).run(view(run.memory, 2, 1), 1)
        assert outcome == "finished"
        assert run.memory.header[Header.COMMITTED] == 3
        return run.persistent(), said


def test_an_order_to_stop_ends_the_step_that_is_under_way() -> None:
    with rig(job()) as run:
        run.memory.header[Header.WISH_STOP] = 1
        assert worker(run.job, run.memory, 0, []).run(view(run.memory, 1, 0), 0) == "stopped"
        assert run.memory.header[Header.COMMITTED] == 1


def test_a_newer_view_interrupts_before_anything_is_done() -> None:
    with rig(job()) as run:
        old = view(run.memory, 1, 0)
        stepper = worker(run.job, run.memory, 0, [])
        announce_epoch(run.memory.header, 0, 2)
        assert stepper.run(old, 0) == "interrupted"
        assert run.memory.header[Header.COMMITTED] == 0


@pytest.mark.parametrize("seat", [0, 4])
def test_a_worker_in_any_seat_makes_the_same(seat: int) -> None:
    undisturbed, _ = run_with_a_death(None)
    with rig(job()) as run:
        worker(run.job, run.memory, seat, []).run(View(0, ((9, seat),)), 9)
        assert run.persistent() == undisturbed


def worker(job: Job, memory: Memory, seat: int, said: Said) -> Stepper:
    tools = Tools(build_work(job, job.objects), memory, "", Changes(Path("none")))
    return Stepper(tools, seat, said.append, lambda: None)


def view(memory: Memory, epoch: int, worker: int) -> View:
    """Of one worker, in the seat of its number, and proposed."""
    announce_epoch(memory.header, 0, epoch)
    return View(epoch, ((worker, worker),))


def test_a_worker_that_never_waits_still_finds_that_its_captain_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, or as fast as the others, it would otherwise go on to the end for nobody."""

    def listen() -> None:
        if run.memory.header[Header.COMMITTED] == 2:
            raise Closed

    hours = count(step=3600)
    monkeypatch.setattr("holdfast.run.stepper.time.monotonic", lambda: float(next(hours)))
    with rig(job()) as run:
        tools = Tools(build_work(run.job, run.job.objects), run.memory, "", Changes(Path("none")))
        with pytest.raises(Closed):
            Stepper(tools, 0, lambda _: None, listen).run(view(run.memory, 1, 0), 0)
        assert run.memory.header[Header.COMMITTED] == 2
