"""DistributedDataParallel over gloo, tuned. Started by `torchrun bench/peer_ddp.py CASE STEPS`.

Prints the samples/s of all ranks together.
"""

import sys

import torch.distributed as dist
from peer_step import Loop
from torch.nn.parallel import DistributedDataParallel


def main(name: str, steps: int) -> None:
    dist.init_process_group("gloo")
    loop = Loop(name, shard=dist.get_rank(), num_shards=dist.get_world_size())
    model = DistributedDataParallel(loop.model, gradient_as_bucket_view=True, static_graph=True)
    rate = loop.run(steps, model) * dist.get_world_size()
    if dist.get_rank() == 0:
        print(rate, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
