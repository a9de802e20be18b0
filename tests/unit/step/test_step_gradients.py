"""Gradients come to their places by several ways, and whatever the way they are autograd's."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from rig import Hands, Rig, job_of, noise, rig
from torch import Tensor, nn
from torch.nn import functional

from holdfast.errors import ModelError
from holdfast.step.gradients import Conflict
from holdfast.step.state import attach

FEATURES, WORDS, SAMPLES = 5, 40, 24


@pytest.fixture(autouse=True)
def short_cuts_for_small_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.step.routes.WORTH_WHILE", 1)


class Tied(nn.Module):
    """An embedding and an output layer with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 4)
        self.out = nn.Linear(4, WORDS, bias=False)
        self.out.weight = self.words.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.words(ids).mean(1))


class Borrowed(nn.Module):
    """A layer whose weight is also used behind its back, which no hook can foresee."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(FEATURES, FEATURES)
        self.second = nn.Linear(FEATURES, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(functional.linear(self.first(x), self.first.weight)) + self.second.weight.sum()


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(FEATURES, FEATURES)
        self.out = nn.Linear(FEATURES, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.inner(torch.tanh(self.inner(x))))


class Choosy(nn.Module):
    """Takes one of two ways, as the sample says; the weights of the other are not reached."""

    def __init__(self) -> None:
        super().__init__()
        self.ways = nn.ModuleList([nn.Linear(FEATURES, 2), nn.Linear(FEATURES, 2)])
        self.idle = nn.Parameter(noise(3))
        self.norm = nn.LayerNorm(FEATURES)

    def forward(self, x: Tensor) -> Tensor:
        return self.ways[int(x[0, 0] > 0)](self.norm(x))


class Sentence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 4, padding_idx=0)
        self.bag = nn.EmbeddingBag(WORDS, 4, mode="mean")
        self.out = nn.Linear(4, 2)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.words(ids).sum(1) + self.bag(ids))


class Sequence(nn.Module):
    """Linear layers over more than two dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(1, 6)
        self.down = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.relu(self.up(x.unsqueeze(-1)))).sum(1)


def plain() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 7), nn.GELU(), nn.Linear(7, 2, bias=False))


def words() -> Tensor:
    # Few words, so that each replica has some of them several times.
    return torch.randint(0, WORDS, (SAMPLES, 6), generator=torch.Generator().manual_seed(1))


MODELS: list[tuple[Callable[[], nn.Module], Callable[[], Tensor], int]] = [
    (plain, lambda: noise(SAMPLES, FEATURES), 2),
    (Twice, lambda: noise(SAMPLES, FEATURES), 2),
    (Borrowed, lambda: noise(SAMPLES, FEATURES), 2),
    (Choosy, lambda: noise(SAMPLES, FEATURES), 2),
    (Sequence, lambda: noise(SAMPLES, FEATURES), 2),
    (Sentence, words, 2),
    (Tied, words, WORDS),
]
each_model = pytest.mark.parametrize(
    ("model", "inputs", "width"), MODELS, ids=[getattr(case[0], "__name__", "") for case in MODELS]
)


def job_for(model: Any, inputs: Callable[[], Tensor], width: int) -> Any:
    return job_of(model, inputs(), noise(SAMPLES, width, seed=2))


@each_model
def test_gradient_is_autograds(model: Any, inputs: Any, width: int) -> None:
    with rig(job_for(model, inputs, width)) as run:
        hands = run.hands(0)
        for replica in range(4):
            compute(hands, 0, replica, slot=replica % 2, adding=False)
            expected = autograds(run, 0, replica)
            for name, found in gradients(run, replica % 2).items():
                torch.testing.assert_close(found, expected[name], rtol=1e-5, atol=1e-6)


@each_model
def test_adding_is_computing_apart_and_adding_then(model: Any, inputs: Any, width: int) -> None:
    """To the bit: it must not matter which replicas one worker holds."""
    with rig(job_for(model, inputs, width)) as run:
        hands = run.hands(0)
        for step, (left, right) in enumerate([(0, 1), (2, 3), (1, 2), (0, 3)] * 2):
            compute(hands, step, left, slot=0, adding=False)
            compute(hands, step, right, slot=1, adding=False)
            wanted = (run.memory.slot(0).gradient + run.memory.slot(1).gradient).clone()
            pair(hands, step, left, right, slot=2)
            assert torch.equal(run.memory.slot(2).gradient, wanted)
            hands.sink.merge(0, 1)
            assert torch.equal(run.memory.slot(0).gradient, wanted)


@each_model
def test_nothing_is_left_of_what_a_slot_held_before(model: Any, inputs: Any, width: int) -> None:
    """Slots are used again and again, in any order, merged and not; a new one knows nothing of that."""
    with rig(job_for(model, inputs, width)) as run:
        hands = run.hands(0)
        for step in range(8):
            for slot in (0, 1):
                compute(hands, step, (step + slot) % 4, slot, adding=False)
                compute(run.hands(1), step, (step + slot) % 4, 3, adding=False)
                assert torch.equal(run.memory.slot(slot).gradient, run.memory.slot(3).gradient)
            if step % 3 == 2:
                hands.sink.merge(0, 1)


@pytest.mark.parametrize("layer", [nn.Linear(FEATURES, 2), nn.Linear(FEATURES, 2, bias=False)])
def test_a_replica_without_samples_leaves_zeros(layer: nn.Module) -> None:
    """The last batch of each second step has 2 samples, so two of the four replicas have none."""
    inputs = noise(14, FEATURES)
    with rig(job_of(lambda: layer, inputs, noise(14, 2, seed=2))) as run:
        hands = run.hands(0)
        for step in range(6):
            compute(hands, step, 0, slot=0, adding=False)
            is_empty = len(hands.replica.order.slice(step, 0, 4)) == 0
            assert is_empty == (step % 2 == 1)
            assert bool((run.memory.slot(0).gradient == 0).all()) == is_empty
            assert run.memory.slot(0).stats.tolist()[1] == (0 if is_empty else 3)


def test_a_linear_weight_is_written_without_a_detour() -> None:
    with rig(job_for(plain, MODELS[0][1], 2)) as run:
        hands = run.hands(0)
        taken: list[str] = []
        hands.sink._take = lambda name, gradient: taken.append(name)  # type: ignore[method-assign]
        compute(hands, 0, 0, slot=0, adding=False)
        assert taken == ["0.bias"]


def test_an_embedding_sends_only_the_rows_it_used() -> None:
    with rig(job_for(Sentence, words, 2)) as run:
        hands = run.hands(0)
        compute(hands, 0, 0, slot=0, adding=False)
        before = run.memory.slot(0).gradient.clone()
        rows = {name: held.tolist() for (_, name), held in hands.sink._rows.items()}
        used = hands.work.dataset.train.fetch(hands.replica.order.slice(0, 0, 4))[0].unique().tolist()
        assert rows["bag.weight"] == used
        assert rows["words.weight"] == [word for word in used if word != 0]  # 0 is its padding
        assert len(used) < WORDS
        compute(hands, 0, 0, slot=0, adding=False)
        assert torch.equal(run.memory.slot(0).gradient, before)


def test_a_weight_used_behind_the_layers_back_is_found_once() -> None:
    with rig(job_for(Borrowed, MODELS[2][1], 2)) as run:
        hands = run.hands(0)
        conflicts = 0
        for replica in range(4):
            while True:
                try:
                    hands.replica.compute(0, replica, 0, adding=False)
                    break
                except Conflict:
                    conflicts += 1
        assert conflicts == 2  # one for each of the two weights


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_no_layer_is_shortened_in_evaluation_or_autocast_to_another_result(precision: str) -> None:
    with rig(job_of(plain, noise(SAMPLES, FEATURES), noise(SAMPLES, 2), precision=precision)) as run:
        hands = run.hands(0)
        untouched = plain()
        attach(untouched, run.memory)
        x = noise(6, FEATURES)
        with torch.no_grad():
            assert torch.equal(hands.work.model(x), untouched(x))
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            assert torch.equal(hands.work.model(x), untouched(x))


def test_an_embedding_that_rewrites_its_weights_is_refused() -> None:
    job = job_of(lambda: nn.Embedding(WORDS, 2, max_norm=1.0), words()[:, 0], noise(SAMPLES, 2))
    with rig(job) as run, pytest.raises(ModelError, match=r"max_norm = 1\.0.*train\.clip_norm"):
        run.hands(0)


def compute(hands: Hands, step: int, replica: int, slot: int, adding: bool) -> None:
    """As a gathering does it: a conflict spoils the slot, and is over after the next try."""
    while True:
        try:
            return hands.replica.compute(step, replica, slot, adding)
        except Conflict:
            assert not adding


def pair(hands: Hands, step: int, left: int, right: int, slot: int) -> None:
    while True:
        try:
            compute(hands, step, left, slot, adding=False)
            return hands.replica.compute(step, right, slot, adding=True)
        except Conflict:
            continue


def gradients(run: Rig, slot: int) -> dict[str, Tensor]:
    flat = run.memory.slot(slot).gradient
    entries = run.memory.layout.shapes.trainable
    return {entry.name: flat[entry.offset : entry.offset + entry.size].view(entry.shape) for entry in entries}


def autograds(run: Rig, step: int, replica: int) -> dict[str, Tensor]:
    """Of a model that nobody has touched, with the same weights."""
    work = run.hands(5).work
    model = type(work.model)() if type(work.model) is not nn.Sequential else plain()
    model.load_state_dict(run.parameters(), strict=False)
    attach(model, run.memory)
    order = run.hands(5).replica.order
    inputs, targets = work.dataset.train.fetch(order.slice(step, replica, 4))
    loss = functional.mse_loss(model(inputs), targets, reduction="none").mean(1).sum()
    (loss / order.count(step)).backward()
    return {
        name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for name, parameter in model.named_parameters()
    }
