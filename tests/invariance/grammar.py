"""Random jobs from a grammar of layers: everything that usually makes a result depend on the crew."""

import random
from typing import Any

import torch
from torch import Tensor, nn

from holdfast import SGD, Adagrad, Adam, AdamW, Cosine, Group, Job, OneCycle, RMSprop, StepDecay, TorchOptimizer
from holdfast.data.source import Dataset, TensorSource

SIDE, CLASSES, VOCABULARY = 6, 4, 24


class Attention(nn.Module):
    """A token mixer with dropout inside."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.MultiheadAttention(width, 2, dropout=0.1, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        return x + self.mix(y, y, y, need_weights=False)[0]


class Tied(nn.Module):
    """The same linear layer twice, and a weight that is used outside its module as well."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.other = nn.Linear(width, width, bias=False)
        self.unused = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.tanh(self.layer(torch.tanh(self.layer(x))))
        return self.other(y) + nn.functional.linear(x, self.other.weight.t())


def image_model(seed: int) -> nn.Module:
    rng, width = random.Random(seed), random.Random(seed).choice([3, 5, 8])
    layers: list[nn.Module] = [nn.Conv2d(1, width, 3, padding=1)]
    for _ in range(rng.randint(1, 3)):
        layers.append(
            rng.choice(
                [
                    lambda: nn.BatchNorm2d(width),
                    lambda: nn.Dropout2d(0.2),
                    lambda: nn.Conv2d(width, width, 3, padding=1),
                    lambda: nn.GroupNorm(1, width),
                ]
            )()
        )
        layers.append(nn.ReLU())
    layers += [nn.Flatten(), nn.Linear(width * SIDE * SIDE, 17), nn.Tanh()]
    if rng.random() < 0.5:
        layers.append(Tied(17))
    return nn.Sequential(*layers, nn.Linear(17, CLASSES))


class Words(nn.Module):
    """Embeddings, attention and a head; tokens in, classes out."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        rng = random.Random(seed)
        width = rng.choice([4, 8, 12])
        self.embed = nn.Embedding(VOCABULARY, width, padding_idx=0 if rng.random() < 0.3 else None)
        self.bag = nn.EmbeddingBag(VOCABULARY, width, mode=rng.choice(["sum", "mean"]))
        self.body = nn.Sequential(*[rng.choice([Attention, Tied])(width) for _ in range(rng.randint(1, 2))])
        self.norm = nn.BatchNorm1d(width) if rng.random() < 0.5 else nn.Identity()
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, ids: Tensor) -> Tensor:
        mixed = self.body(self.embed(ids)).mean(1) + self.bag(ids)
        return self.head(self.drop(self.norm(mixed)))


def images(n: int) -> Dataset:
    generator = torch.Generator().manual_seed(n)
    x, y = torch.randn(n, 1, SIDE, SIDE, generator=generator), torch.randint(CLASSES, (n,), generator=generator)
    return _dataset(x, y)


def words(n: int) -> Dataset:
    generator = torch.Generator().manual_seed(n)
    x, y = torch.randint(VOCABULARY, (n, 5), generator=generator), torch.randint(CLASSES, (n,), generator=generator)
    return _dataset(x, y)


def _dataset(x: Tensor, y: Tensor) -> Dataset:
    test = len(x) // 4
    info = {"task": "classification", "n_classes": CLASSES}
    return Dataset(TensorSource(x[test:], y[test:]), TensorSource(x[:test], y[:test]), info)


def random_job(rng: random.Random) -> Job:
    """A job of a few steps; every choice comes from `rng`."""
    replicas = rng.choice([1, 2, 3, 4, 5, 6, 7, 8])
    # Batch normalisation needs two samples in each replica, also in the last batch of an epoch.
    batch = replicas * 2 + rng.randint(0, 9)
    n = 4 * (batch * rng.randint(1, 3) + rng.choice([0, 0, 2 * replicas])) // 3 + 4
    pictures = rng.random() < 0.5
    steps = rng.randint(2, 6)
    return Job(
        name="case",
        model=image_model if pictures else Words,
        model_args={"seed": rng.randrange(10**6)},
        data=images if pictures else words,
        data_args={"n": n},
        loss="cross_entropy",
        replicas=replicas,
        batch=batch,
        last_batch="drop",
        steps=steps,
        seed=rng.randrange(10**6),
        precision="bf16" if rng.random() < 0.15 else "fp32",
        clip_norm=rng.choice([None, None, 0.05, 5.0]),
        clip_value=rng.choice([None, None, None, 0.01]),
        optimizer=_optimizer(rng),
        schedule=rng.choice([None, Cosine(), OneCycle(), StepDecay(every_steps=2), Cosine(warmup_steps=1)]) or {},
        evaluate={"every_steps": rng.choice([None, 2]), "batch": rng.choice([3, 64])} if rng.random() < 0.9 else {},
        checkpoint={"every_minutes": "none", "every_steps": rng.choice([None, 1, 2])},
        crew={"restarts": 100},
    )


def random_story(rng: random.Random) -> list[tuple[int, str]]:
    """What people change while it trains, in order: the first step that it holds in, and the assignment."""
    texts = (
        "optimizer.lr=0.002",
        "optimizer.weight_decay=0.1",
        "train.clip_value=0.02",
        'schedule={kind="linear", min_ratio=0.5}',
        "schedule.warmup_steps=1",
    )
    count = rng.choice([0, 0, 1, 2, 3])
    return sorted((rng.randint(0, 6), rng.choice(texts)) for _ in range(count))


def _optimizer(rng: random.Random) -> Any:
    groups = (Group(match="*.bias", lr_scale=0.5, weight_decay=0.0),) if rng.random() < 0.4 else ()
    return rng.choice(
        [
            lambda: SGD(lr=0.05, groups=groups),
            lambda: SGD(lr=0.05, momentum=0.9, nesterov=rng.random() < 0.5, weight_decay=0.01, groups=groups),
            lambda: Adam(lr=0.01, groups=groups),
            lambda: AdamW(lr=0.01, groups=groups),
            lambda: AdamW(lr=0.01),
            lambda: Adagrad(lr=0.05, groups=groups),
            lambda: RMSprop(lr=0.01, momentum=rng.choice([0.0, 0.5]), centered=rng.random() < 0.5),
            lambda: TorchOptimizer(use=rng.choice(["torch.optim:NAdam", "torch.optim:Adafactor", "torch.optim:ASGD"])),
        ]
    )()
