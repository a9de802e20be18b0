"""`python bench/peer_alone.py CASE STEPS PROCESSES PARTS`: the hand-written loop, in processes that never talk.

One process is what one worker is compared with; two are the ceiling of two workers. They start their first
step together. Prints the samples/s of all processes together.
"""

import multiprocessing
import sys
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

from peer_step import Loop


def main(name: str, steps: int, processes: int, parts: int) -> None:
    if processes == 1:
        print(Loop(name, parts=parts).run(steps), flush=True)
        return
    context = multiprocessing.get_context("spawn")
    barrier, rates = context.Barrier(processes), context.Queue()
    crew = [
        context.Process(target=_train, args=(name, steps, shard, parts, barrier, rates), daemon=True)
        for shard in range(processes)
    ]
    for process in crew:
        process.start()
    for process in crew:
        process.join()
    if any(process.exitcode for process in crew):
        sys.exit("a process of the ceiling failed")
    print(sum(rates.get() for _ in crew), flush=True)


def _train(name: str, steps: int, shard: int, parts: int, barrier: Barrier, rates: "Queue[float]") -> None:
    loop = Loop(name, shard, barrier.parties, parts)
    barrier.wait()
    rates.put(loop.run(steps))


if __name__ == "__main__":
    main(sys.argv[1], *(int(number) for number in sys.argv[2:5]))
