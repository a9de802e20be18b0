"""One replica group of torchft, of one worker: `python bench/peer_torchft.py MARKS NUMBER WAY`, WAY by-hand or wrapped.

Set up as torchft's own example is: gloo with 5 s of patience, the manager with 30 s, at least one replica. The
lighthouse's address is in the environment.
"""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from marks import Marks
from peer_step import Loop
from torch.distributed import TCPStore
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

REPLICAS = 2


def main(marks: Marks, number: int, way: str) -> None:
    loop = Loop("mlp_32", shard=number, num_shards=REPLICAS)
    inner = torch.optim.AdamW(loop.model.parameters(), lr=1e-3, fused=True)
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)  # it serves as long as it is held
    manager = managed(loop, inner, number, store.port)
    model = DistributedDataParallel(manager, loop.model) if way == "wrapped" else loop.model
    optimizer = Optimizer(manager, inner)
    while True:
        before = manager.current_step()
        optimizer.zero_grad(set_to_none=True)
        loop.backward(model)
        if way == "by-hand":
            for work in [manager.allreduce(parameter.grad) for parameter in model.parameters()]:
                work.wait()
        optimizer.step()
        is_committed = manager.current_step() > before
        marks.add(manager.current_step(), manager.num_participants() if is_committed else 0)


def managed(loop: Loop, optimizer: torch.optim.Optimizer, number: int, store_port: int) -> Manager:
    def load(state: dict[str, Any]) -> None:
        loop.model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])

    def save() -> dict[str, Any]:
        return {"model": loop.model.state_dict(), "optimizer": optimizer.state_dict()}

    return Manager(
        pg=ProcessGroupGloo(timeout=timedelta(seconds=5)),
        load_state_dict=load,
        state_dict=save,
        min_replica_size=1,
        timeout=timedelta(seconds=30),
        replica_id=f"replica_{number}",
        rank=0,
        world_size=1,
        store_addr="localhost",
        store_port=store_port,
    )


if __name__ == "__main__":
    main(Marks(Path(sys.argv[1])), int(sys.argv[2]), sys.argv[3])
