"""A trial as the crew would report it, on a clock that is set by hand."""

from holdfast.cli.demo.witness import Witness
from holdfast.job import Job
from holdfast.run.events import Note
from holdfast.run.progress import Snapshot


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def snapshot(step: int, steps: int = 100) -> Snapshot:
    return Snapshot(step, steps, 0.0, 0.5, 1000.0, 1.0, {})


def started(worker: int, pid: int) -> Note:
    return Note("started", f"worker {worker} started (pid {pid})", worker)


def killed_and_replaced(clock: Clock) -> Witness:
    """Begins at 0 s, stands at 2 s, worker 1 dies at 6 s, worker 2 is there from 8 s, over at 10 s."""
    witness = Witness(clock=clock)
    witness.begin("demo-1", Job(model="logistic", data="digits", steps=1))
    witness.note(started(0, 10), "", 0)
    witness.note(started(1, 11), "", 0)
    for second in range(1, 11):
        clock.now = 100.0 + second
        if second >= 2:
            witness.progress(snapshot(10 * second - 20))
        if second == 2:
            witness.note(Note("view", "view 1: workers 0, 1"), "", 0)
        if second == 6:
            witness.note(Note("died", "worker 1 died: it was killed by SIGKILL", 1), "", 40)
            witness.note(started(2, 12), "", 40)
            witness.note(Note("view", "view 2: workers 0"), "", 40)
        if second == 8:
            witness.note(Note("view", "view 3: workers 0, 2"), "", 60)
    witness.end()
    return witness
