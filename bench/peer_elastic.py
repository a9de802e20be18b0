"""DDP over gloo that survives by its checkpoint: `torchrun --max-restarts=N bench/peer_elastic.py FOLDER EVERY`.

Every so many steps rank 0 saves model, optimizer and step; whoever is started goes on from there.
"""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from marks import Marks
from peer_step import Loop
from torch.nn.parallel import DistributedDataParallel


def main(folder: Path, every: int) -> None:
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    loop = Loop("mlp_32", shard=rank, num_shards=size)
    optimizer = torch.optim.AdamW(loop.model.parameters(), lr=1e-3, fused=True)
    step = load(folder, loop, optimizer)
    model = DistributedDataParallel(loop.model, gradient_as_bucket_view=True, static_graph=True)
    marks = Marks(folder / f"rank-{rank}.marks")
    while True:
        optimizer.zero_grad(set_to_none=True)
        loop.backward(model)
        optimizer.step()
        step += 1
        marks.add(step, size)
        if rank == 0 and step % every == 0:
            save(folder, loop, optimizer, step)


def load(folder: Path, loop: Loop, optimizer: torch.optim.Optimizer) -> int:
    file = folder / "checkpoint.pt"
    if not file.exists():
        return 0
    saved = torch.load(file)
    loop.model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return int(saved["step"])


def save(folder: Path, loop: Loop, optimizer: torch.optim.Optimizer, step: int) -> None:
    draft = folder / "checkpoint.draft"
    torch.save({"model": loop.model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, draft)
    os.replace(draft, folder / "checkpoint.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
