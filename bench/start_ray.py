"""`python bench/start_ray.py FILE`: the least that trains with Ray Train on 2 workers.

Rank 0 writes the time of day after one step to FILE; a print would pass through Ray's log first.
"""

import sys
import time
from pathlib import Path
from typing import Any

import torch
from models import CLASSES, PIXELS, mlp
from ray import train
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch.nn import functional


def train_loop(config: dict[str, Any]) -> None:
    model = prepare_model(mlp())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    functional.cross_entropy(model(torch.randn(32, PIXELS)), torch.randint(CLASSES, (32,))).backward()
    optimizer.step()
    if train.get_context().get_world_rank() == 0:
        Path(config["file"]).write_text(str(time.time()))


if __name__ == "__main__":
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"file": sys.argv[1]},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=train.ScalingConfig(num_workers=2),
    )
    trainer.fit()
