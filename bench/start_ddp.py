"""`torchrun bench/start_ddp.py`: the least that trains with DDP; prints the time of day after one step."""

import time

import torch
import torch.distributed as dist
from models import CLASSES, PIXELS, mlp
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = DistributedDataParallel(mlp(), gradient_as_bucket_view=True, static_graph=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
functional.cross_entropy(model(torch.randn(32, PIXELS)), torch.randint(CLASSES, (32,))).backward()
optimizer.step()
if dist.get_rank() == 0:
    print(time.time(), flush=True)
dist.destroy_process_group()
