"""torchrun that is struck: two workers with DDP over gloo, and a checkpoint to go back to."""

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

from commands import HERE, children
from costs import Cost
from marks import Mark, committed, lost_steps, read_marks, regained_s, stall_s
from packs import Pack, until

WORKERS = 2
CHECKPOINT_EVERY = 100
"""Steps; two or three seconds of them."""


class Torchrun:
    def __init__(self, parent: Path) -> None:
        self._pack = Pack(parent)
        program = str(Path(sys.executable).with_name("torchrun"))
        flags = ("--standalone", "--nnodes=1", f"--nproc-per-node={WORKERS}", "--max-restarts=1000000")
        script = (str(HERE / "peer_elastic.py"), str(self._pack.folder), str(CHECKPOINT_EVERY))
        self.agent = self._pack.start([program, *flags, *script], "torchrun.log")
        # Not before there is something to go back to.
        if not self.reaches(CHECKPOINT_EVERY + 50):
            self.end()
            sys.exit(f"torchrun did not begin to train; {self._pack.folder} says why")

    def end(self) -> None:
        self._pack.end()

    def marks(self) -> list[Mark]:
        return read_marks(self._pack.folder / "rank-0.marks")

    def workers(self) -> list[int]:
        found = []
        for pid in children(self.agent.pid):
            with contextlib.suppress(OSError):
                if b"peer_elastic.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return sorted(found)

    def reaches(self, step: int) -> bool:
        """Waits until it is so far; False if it hangs or dies."""
        until(lambda: self._furthest() >= step or self.has_died())
        return self._furthest() >= step

    def has_died(self) -> bool:
        return self.agent.poll() is not None

    def _furthest(self) -> int:
        return max((mark.step for mark in self.marks()), default=0)


def kill_worker(job: Torchrun, chance: random.Random) -> Cost:
    struck, before = time.monotonic(), job.marks()[-1].step
    os.kill(chance.choice(job.workers()), signal.SIGKILL)
    # The step that was under way may yet come to an end.
    if not job.reaches(before + 5):
        return Cost(end="died" if job.has_died() else "hung")
    marks = job.marks()
    return Cost(stall_s(marks, struck), regained_s(marks, struck), lost_steps(marks, struck))


def stop_worker(job: Torchrun, chance: random.Random, watched_s: float) -> str:
    struck = time.monotonic()
    os.kill(chance.choice(job.workers()), signal.SIGSTOP)
    return _seen(job, struck, watched_s)


def kill_agent(job: Torchrun, watched_s: float) -> str:
    struck, workers = time.monotonic(), job.workers()
    job.agent.kill()
    seen = _seen(job, struck, watched_s)
    orphans = [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    return f"{seen}; {len(orphans)} of {WORKERS} workers live on without anybody to look after them"


def _seen(job: Torchrun, struck: float, watched_s: float) -> str:
    time.sleep(watched_s)
    return f"steps in {watched_s:.0f} s: {len(committed(job.marks(), struck))}"
