"""A model and a dataset of your own: plain torch, nothing to inherit from Holdfast, nothing to decorate.

python examples/own_model.py
"""

import math

import torch
from torch import Tensor, nn

import holdfast as hf


class Spirals:
    """Points on two spirals wound around each other; an item is (point, which spiral)."""

    def __init__(self, count: int, jitter: float) -> None:
        self.count = count
        self.jitter = jitter

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        spiral = index % 2
        turn = math.sqrt(index / self.count) * 3 * math.pi
        angle = turn + spiral * math.pi
        point = torch.tensor([math.cos(angle), math.sin(angle)]) * turn / (3 * math.pi)
        # New each time, yet reproducible: torch's random state is set by (seed, step, replica).
        return point + self.jitter * torch.randn(2), spiral


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.head = nn.Linear(width, 2)

    def forward(self, points: Tensor) -> Tensor:
        return self.head(self.layers(points))


def accuracy(model: nn.Module, data: Spirals) -> float:
    points, labels = zip(*(data[index] for index in range(len(data))), strict=True)
    with torch.no_grad():
        guesses = model.eval()(torch.stack(points)).argmax(1)
    return (guesses == torch.tensor(labels)).float().mean().item()


def main() -> None:
    job = hf.Job(
        name="spirals",
        model=Net,
        model_args={"width": 64},
        data=Spirals(2000, jitter=0.02),
        loss="cross_entropy",
        replicas=8,
        batch=128,
        epochs=40,
        optimizer=hf.AdamW(lr=1e-2),
        schedule="cosine",
    )
    run = hf.train(job, workers=2)
    print(f"accuracy between the training points: {accuracy(run.model(), Spirals(777, jitter=0.0)):.3f}")
    print(f"sha256 of the model, the same with any number of workers: {run.model_sha256}")


if __name__ == "__main__":
    main()
