"""What saving costs: Adam's update by torch alone, behind a copy of the old values, and by the sweep that does both.

`python bench/adam.py` prints a table; all three take turns on the same memory, in pieces as a run has them.
"""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch

from holdfast.job import AdamW
from holdfast.step.layout import BLOCK
from holdfast.step.rules import STRETCH, Gradient, Log, Moment, elementwise

PIECES, TURNS = 23, 15


def main() -> None:
    torch.set_num_threads(1)
    live = [torch.rand(PIECES * BLOCK) * 0.01 for _ in range(4)]
    log = [torch.zeros(BLOCK) for _ in range(3)]
    ways: dict[str, Callable[[], None]] = {
        "torch's kernel, nothing saved": lambda: by_torch(live, None),
        "a copy, then torch's kernel": lambda: by_torch(live, log),
        "the sweep, which does both": lambda: by_sweep(live, log),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)
    least = median(times["torch's kernel, nothing saved"])
    print("| | ms | ÷ nothing saved |\n|---|---|---|")
    for name, taken in times.items():
        print(f"| {name} | {1e3 * median(taken):.1f} | {median(taken) / least:.2f} |")


def by_torch(live: list[torch.Tensor], log: list[torch.Tensor] | None) -> None:
    count = torch.ones(())
    for p, g, m, v in zip(*(part.view(PIECES, BLOCK) for part in live), strict=True):
        for place, part in zip(log or (), (p, m, v), strict=False):
            place.copy_(part)
        torch._fused_adamw_(
            [p], [g], [m], [v], [], [count],
            lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False,
        )  # fmt: skip


def by_sweep(live: list[torch.Tensor], log: list[torch.Tensor]) -> None:
    rule = elementwise(AdamW(lr=1e-3))
    assert rule is not None
    assert rule.saving_update is not None
    old, *old_state = log[0].numpy()[: 3 * STRETCH].reshape(3, STRETCH)
    places = Log(old, old_state, np.zeros(1, np.uint64))
    for p, g, m, v in zip(*(part.numpy().reshape(PIECES, BLOCK) for part in live), strict=True):
        rule.saving_update(p, Gradient([g]), [m, v], places, Moment(1, 1e-3, 0.01))


if __name__ == "__main__":
    main()
