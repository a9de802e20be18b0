"""`python bench/memory_copy.py BYTES`: prints the seconds of one copy to fresh memory, in one thread."""

import sys
import time

import torch

torch.set_num_threads(1)
source = torch.ones(int(sys.argv[1]), dtype=torch.uint8)
begin = time.perf_counter()
torch.empty_like(source).copy_(source)
print(time.perf_counter() - begin)
