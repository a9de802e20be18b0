"""A worker dies at any moment of a step; others finish the step, and not a bit is different."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from mortal import Death, Fuse, each_moment, mortal
from rig import Hands, Rig, job_of, noise, rig
from torch import nn

from holdfast.job import SGD, Adagrad, Adam, AdamW, Job, RMSprop, TorchOptimizer
from holdfast.job.optimizer import Group
from holdfast.step.apply import Applier, begun, mend, step_of
from holdfast.step.memory import Memory
from holdfast.step.rules import STRETCH, Gradient

TRAINED = 2
"""Steps before the one that is disturbed, so that the state is not all zeros."""


def net() -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 40), nn.BatchNorm1d(40), nn.Tanh(), nn.Linear(40, 40, bias=False), nn.Linear(40, 2)
    )


def wide() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 30, bias=False), nn.Tanh(), nn.Linear(30, 2, bias=False))


GROUPS = (Group(match="*.bias", weight_decay=0.0),)
JOBS: dict[str, tuple[Any, dict[str, Any]]] = {
    "adamw": (net, {"optimizer": AdamW(lr=0.01, groups=GROUPS)}),
    "momentum": (net, {"optimizer": SGD(lr=0.01, momentum=0.9)}),
    "clip_norm": (net, {"optimizer": AdamW(lr=0.01), "clip_norm": 0.05}),
    "clip_value": (net, {"optimizer": SGD(lr=0.01), "clip_value": 0.001}),
    "nadam": (wide, {"optimizer": TorchOptimizer(use="torch.optim:NAdam", lr=0.01)}),
    # Of one replica nothing is added up, so its partial itself is what the update sees, again after a death.
    "alone, adam": (net, {"replicas": 1, "optimizer": Adam(lr=0.01, weight_decay=0.1)}),
    "alone, sgd": (net, {"replicas": 1, "optimizer": SGD(lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1)}),
    "alone, adagrad": (net, {"replicas": 1, "optimizer": Adagrad(lr=0.01, weight_decay=0.1)}),
    "alone, rmsprop": (net, {"replicas": 1, "optimizer": RMSprop(lr=0.01, momentum=0.9, weight_decay=0.1)}),
    "alone, clip": (net, {"replicas": 1, "optimizer": SGD(lr=0.01), "clip_value": 0.001, "clip_norm": 0.05}),
    "alone, nadam": (wide, {"replicas": 1, "optimizer": TorchOptimizer(use="torch.optim:NAdam", weight_decay=0.1)}),
    "alone, rude": (net, {"replicas": 1, "optimizer": TorchOptimizer(use="rig:Rude", lr=0.01)}),
    "muon": (wide, {"optimizer": TorchOptimizer(use="torch.optim:Muon", lr=0.01)}),
}


def job_named(name: str, **more: Any) -> Job:
    model, fields = JOBS[name]
    # 24 samples a step give each of 12 replicas two: with one, batch norm has nothing to normalise by.
    return job_of(model, noise(72, 6), noise(72, 2, seed=1), **{"batch": 24, **fields, **more})


@pytest.fixture(params=JOBS)
def trained(request: pytest.FixtureRequest, small_blocks: None) -> Iterator[tuple[Rig, Hands]]:
    """A run in the middle, all gradients of its next step gathered."""
    with rig(job_named(request.param)) as run:
        hands = run.hands(0)
        run.train(hands, TRAINED)
        run.gather(hands, TRAINED)
        yield run, hands


@pytest.mark.parametrize("keep", [False, True], ids=["undo", "shadow"])
def test_apply_survives_a_death_at_any_moment(trained: tuple[Rig, Hands], keep: bool) -> None:
    run, hands = trained
    survivor = Hands(**{**hands.__dict__, "seat": 1, "applier": Applier(run.memory, run.job, 1, run.work.steps)})
    before, arena = kept(run), bytes(run.memory.arena.buffer)
    run.apply(survivor, TRAINED, keep)
    undisturbed = run.persistent()
    assert kept(run) != before
    mended = 0
    for fuse in each_moment():
        run.memory.arena.buffer[:] = arena
        hands.applier = Applier(run.memory, run.job, 0, run.work.steps)
        with mortal(run.memory, fuse), tearing(hands.applier, run.memory, fuse):
            run.apply(hands, TRAINED, keep)
        mended += mend(run.memory)
        run.apply(survivor, TRAINED, keep)
        assert run.persistent() == undisturbed
        assert step_of(run.memory) == TRAINED + 1
        assert mend(run.memory) == 0
        if keep:
            assert shadow(run) == before
    assert mended >= 2 * len(run.memory.layout.shapes.pieces)


@pytest.mark.parametrize("keep", [False, True], ids=["undo", "shadow"])
def test_mending_survives_a_death_at_any_moment(trained: tuple[Rig, Hands], keep: bool) -> None:
    """Two workers have each torn a piece; the one that mends dies, and so on."""
    run, hands = trained
    arena = bytes(run.memory.arena.buffer)
    run.apply(hands, TRAINED, keep)
    undisturbed = run.persistent()
    run.memory.arena.buffer[:] = arena
    tear_one_piece(run, seat=0, index=0, keep=keep)
    if len(run.memory.layout.shapes.pieces) > 1:
        tear_one_piece(run, seat=2, index=1, keep=keep)
    torn = bytes(run.memory.arena.buffer)
    for fuse in each_moment():
        run.memory.arena.buffer[:] = torn
        with mortal(run.memory, fuse):
            mend(run.memory)
        mend(run.memory)
        run.apply(hands, TRAINED, keep)
        assert run.persistent() == undisturbed


@pytest.mark.parametrize("keep", [False, True], ids=["undo", "shadow"])
@pytest.mark.parametrize("name", ["adamw", "clip_norm"])
def test_a_piece_may_be_torn_again_and_again(small_blocks: None, name: str, keep: bool) -> None:
    """Each heir goes on within the piece where the one before it died, and dies there as well."""
    with rig(job_named(name)) as run:
        hands = run.hands(0)
        run.train(hands, TRAINED)
        run.gather(hands, TRAINED)
        arena = bytes(run.memory.arena.buffer)
        run.apply(hands, TRAINED, keep)
        undisturbed = run.persistent()
        run.memory.arena.buffer[:] = arena
        reached = []
        for seat in (1, 2, 0, 1):
            hands.applier = Applier(run.memory, run.job, seat, run.work.steps)
            hands.applier._update_and_save = partial(sweep_and_die, hands.applier)  # type: ignore[method-assign]
            with pytest.raises(Death):
                run.apply(hands, TRAINED, keep)
            assert mend(run.memory) == 1
            reached.append(begun(run.memory, TRAINED, 0))
        assert reached[0] < reached[1] < reached[2] <= reached[3]
        assert begun(run.memory, TRAINED + 1, 0) == 0
        hands.applier = Applier(run.memory, run.job, 2, run.work.steps)
        run.apply(hands, TRAINED, keep)
        assert run.persistent() == undisturbed


@pytest.mark.parametrize("name", ["adamw", "clip_norm"])
@pytest.mark.parametrize("replicas", [3, 6, 7])
def test_gathering_survives_a_death_at_any_moment(name: str, replicas: int) -> None:
    with rig(job_named(name, replicas=replicas)) as run:
        first, second = run.hands(0), run.hands(1)
        run.train(first, TRAINED)
        arena = bytes(run.memory.arena.buffer)
        run.train(first, TRAINED + 1)
        undisturbed = run.persistent()
        for fuse in each_moment():
            run.memory.arena.buffer[:] = arena
            dying = run.hands(0)
            with mortal(run.memory, fuse):
                run.gather(dying, TRAINED)
            heir = run.hands(0)  # in the dead one's seat, where some of its partials lie
            second.sink._rows.clear()
            second.gathering.gather(TRAINED, range(replicas // 2))
            heir.gathering.gather(TRAINED, range(replicas // 2, replicas))
            run.apply(heir, TRAINED)
            assert run.persistent() == undisturbed


@pytest.mark.parametrize(("replicas", "workers"), [(r, w) for r in (1, 2, 5, 6, 8, 12) for w in (1, 2, 3, 5) if w <= r])
def test_how_replicas_are_shared_changes_nothing(replicas: int, workers: int) -> None:
    """Nor does who updates which piece."""
    job = job_named("adamw", replicas=replicas)
    with rig(job) as alone:
        alone.train(alone.hands(0))
        undisturbed = alone.persistent()
    with rig(job) as run:
        crew = [run.hands(seat) for seat in range(workers)]
        for step in range(run.work.steps):
            for rank, hands in enumerate(crew):
                hands.gathering.gather(step, range(rank * replicas // workers, (rank + 1) * replicas // workers))
            run.apply(crew[step % workers], step)
        assert run.persistent() == undisturbed


def test_a_gathered_step_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with rig(job_named("adamw")) as run:
        first, second = run.hands(0), run.hands(1)
        run.gather(first, 0)
        monkeypatch.setattr(second.replica, "compute", lambda *_, **__: pytest.fail("computed again"))
        run.gather(second, 0)


@contextmanager
def tearing(applier: Applier, memory: Memory, fuse: Fuse) -> Iterator[None]:
    """Deaths in the middle of what is not a single store: copies, updates, and new buffers."""
    save, update, adopt = applier._save, applier._update, applier._adopt_buffers
    sweep = applier._update_and_save

    def torn_save(step: int, index: int, keep: bool) -> None:
        place, _ = applier._copies_of(index, keep)[-1]
        fuse.moment(lambda: scribble(place))
        save(step, index, keep)

    def torn_update(index: int, *rest: Any) -> None:
        fuse.moment(lambda: [scribble(part) for part in memory.piece_bytes(index)] and None)
        update(index, *rest)

    def torn_sweep(index: int, *rest: Any) -> None:
        fuse.moment(lambda: sweep_in_part(applier, index, *rest))
        sweep(index, *rest)

    def torn_buffers() -> None:
        fuse.moment(lambda: [buffer.zero_() for buffer in memory.buffers().values()] and None)
        adopt()

    applier._save, applier._update = torn_save, torn_update  # type: ignore[method-assign]
    applier._adopt_buffers = torn_buffers  # type: ignore[method-assign]
    applier._update_and_save = torn_sweep  # type: ignore[method-assign]
    yield


def sweep_in_part(applier: Applier, index: int, gradient: Gradient, keep: bool, moment: Any, begin: int) -> None:
    """Some stretches are done, the next is saved and torn, and whatever is behind it is untouched."""
    (parameters, *state), log = applier._arrays_of(index, keep)
    start = begin + (len(parameters) - begin) // 2 // STRETCH * STRETCH
    stop = min(len(parameters), start + STRETCH)
    cut = Gradient([part[:start] for part in gradient.parts], gradient.scale)
    places = replace(log, begin=begin)
    if keep:
        places = replace(places, parameters=log.parameters[:start], state=[place[:start] for place in log.state])
    applier._rule.saving_update(parameters[:start], cut, [part[:start] for part in state], places, moment)
    shift = 0 if keep else start
    for place, part in zip([log.parameters, *log.state], [parameters, *state], strict=True):
        place[start - shift : stop - shift] = part[start:stop]
    log.saved[0] = stop
    for part in (parameters, *state):
        part[start : stop - 5] = 3.0


def sweep_and_die(*arguments: Any) -> None:
    sweep_in_part(*arguments)
    raise Death


def tear_one_piece(run: Rig, seat: int, index: int, keep: bool) -> None:
    applier = Applier(run.memory, run.job, seat, run.work.steps)
    applier._save(TRAINED, index, keep)
    for part in run.memory.piece_bytes(index):
        scribble(part)


def scribble(part: memoryview) -> None:
    """Half of it is already new."""
    part[: len(part) // 2] = bytes([0x5A]) * (len(part) // 2)


def kept(run: Rig) -> list[bytes]:
    """What a checkpoint keeps of a step, piece by piece, and the buffers."""
    pieces = range(len(run.memory.layout.shapes.pieces))
    found = [bytes(part) for index in pieces for part in run.memory.piece_bytes(index)]
    at, shapes = run.memory.layout.at, run.memory.layout.shapes
    return [*found, bytes(run.memory.arena.bytes_at(at["buffers"], shapes.buffer_bytes))]


def shadow(run: Rig) -> list[bytes]:
    pieces = range(len(run.memory.layout.shapes.pieces))
    found = [bytes(part) for index in pieces for part in run.memory.shadow_bytes(index)]
    at, shapes = run.memory.layout.at, run.memory.layout.shapes
    place = at["shadow"] + at["buffers"] - at["parameters"]
    return [*found, bytes(run.memory.arena.bytes_at(place, shapes.buffer_bytes))]


def test_the_clipped_norm_does_not_depend_on_who_measured(small_blocks: None) -> None:
    with rig(job_named("clip_norm")) as run:
        hands = run.hands(0)
        run.gather(hands, 0)
        run.apply(hands, 0)
        norm = hands.applier.norm()
        for index in reversed(range(len(run.memory.layout.shapes.pieces))):
            Applier(run.memory, run.job, 1, 4).norm()
            assert run.memory.norms[index] > 0
        whole = torch.cat([total.double() for total in run.memory.total])
        assert norm == pytest.approx(torch.linalg.vector_norm(whole).item())
