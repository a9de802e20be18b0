"""The janitor: finds what dead runs left behind, and removes it. Of a run that may live nothing is touched.

A run may live until the holder of its lease is proved dead. While it still has workers it is then left alone for a
time, since they may bring about another captain.
"""

import contextlib
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Literal

from holdfast.errors import RunError
from holdfast.ledger import UNFINISHED, Lease, Ledger, Run
from holdfast.ledger.checkpoints.layout import draft_pid
from holdfast.run import strays
from holdfast.run.lease import RunLease, lease_of, may_live
from holdfast.run.place import RunPlace
from holdfast.run.strays import Stray

_GRACE_S = 120.0
"""For so long a run without a captain is left to its workers, which wait for one less long than this. For so long, too,
a holder that cannot be seen from here, in another container say, is believed to live when its lease has run out."""
_TIDY_S = 0.01
"""How long a run that begins goes on looking at others; what is left over is for the next one."""
_DRAFT = re.compile(r"(?:key|(?:job|layout|standing-\d+)\.json|objects\.pkl)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something of a dead run. `what` is the pid and birth of a process, a status, a lease's name, or a path."""

    kind: Literal["process", "status", "lease", "socket", "draft"]
    run: str
    what: str
    why: str
    bytes: int = 0


def look(ledger: Ledger) -> list[Leftover]:
    """What the dead runs of the ledger left behind. Changes nothing."""
    workers = cache(strays.workers)
    return [one for run in ledger.runs() for one in _left_by(ledger, run, workers)]


def remove(ledger: Ledger, leftovers: Sequence[Leftover]) -> list[Leftover]:
    """Remove what `look` has found, and say what is gone; a run that has come to life since is left alone."""
    runs = groupby(leftovers, key=lambda one: one.run)
    return [one for run, things in runs for one in _removed(ledger, run, list(things))]


def tidy(ledger: Ledger, run: str) -> None:
    """For a process that is about to execute a run: clean up after that run, and quickly after others. Never raises."""
    deadline = time.monotonic() + _TIDY_S
    workers = cache(strays.workers)
    with contextlib.suppress(Exception):
        near = [one for one in ledger.runs() if one.id == run or one.status in UNFINISHED]
        for one in sorted(near, key=lambda one: one.id != run):
            if one.id == run or time.monotonic() < deadline:
                remove(ledger, _left_by(ledger, one, workers))


def _left_by(ledger: Ledger, run: Run, workers: Callable[[], list[Stray]]) -> list[Leftover]:
    lease = lease_of(ledger, run.id)
    if _may_live(run, lease):
        return []
    place = _place(ledger, run.id)
    own = [worker for worker in workers() if worker.root == place.root.resolve()]
    alone_s = time.time() - max(run.created, run.ended or 0.0, lease.expires if lease else 0.0)
    if own and alone_s < _GRACE_S:
        return []
    why = f"nobody has executed the run for {alone_s:.0f} s"
    processes = [Leftover("process", run.id, f"{worker.pid}-{worker.born}", why) for worker in own]
    return [*processes, *_on_record(run, lease), *_on_disk(run, place)]


def _may_live(run: Run, lease: Lease | None) -> bool:
    if lease is None:  # it was never executed; a process that will do so may be on its way
        return run.status == "starting" and time.time() - run.created < _GRACE_S
    return may_live(lease, time.time(), _GRACE_S)


def _on_record(run: Run, lease: Lease | None) -> Iterator[Leftover]:
    if run.status in UNFINISHED:
        yield Leftover("status", run.id, run.status, "no process executes the run, so it is lost")
    if lease is not None and lease.holder:
        yield Leftover("lease", run.id, lease.name, f"process {lease.holder.split('-')[0]}, which held it, is gone")


def _on_disk(run: Run, place: RunPlace) -> Iterator[Leftover]:
    if place.socket.is_socket():
        yield Leftover("socket", run.id, str(place.socket), "nobody listens")
    shared = [(path, int(found[1])) for path in _entries(place.root) if (found := _DRAFT.fullmatch(path.name))]
    saved = [(path, pid) for path in _entries(place.checkpoints) if (pid := draft_pid(path)) is not None]
    for path, pid in (*shared, *saved):
        yield Leftover("draft", run.id, str(path), f"process {pid} did not finish it", _size(path))


def _removed(ledger: Ledger, run: str, things: list[Leftover]) -> list[Leftover]:
    """The run's lease is held meanwhile, so that nobody begins to execute it under the janitor's hands."""
    if _may_live(ledger.run(run), lease_of(ledger, run)):
        return []
    try:
        lease = RunLease(ledger, run)
    except RunError:
        return []
    try:
        gone = [one for one in things if one.kind != "draft" and _is_removed(ledger, one)]
    finally:
        lease.release()
    # A large draft takes a while, and needs no lease: under it no writer lived, and its name is never used again.
    return [*gone, *(one for one in things if one.kind == "draft" and _delete(Path(one.what)))]


def _is_removed(ledger: Ledger, one: Leftover) -> bool:
    match one.kind:
        case "process":
            pid, born = one.what.split("-")
            return strays.kill(Stray(int(pid), born, _place(ledger, one.run).root.resolve()))
        case "status":
            return _mark_lost(ledger, one.run)
        case "lease":
            return True  # the janitor has taken it, and is about to give it back
        case _:
            return _delete(Path(one.what))


def _mark_lost(ledger: Ledger, run: str) -> bool:
    if ledger.run(run).status not in UNFINISHED:
        return False
    ledger.update_run(run, status="lost", pid=None)
    ledger.add_event(run, "lost", "the process that executed the run is gone, and no other has taken it over")
    return True


def _delete(path: Path) -> bool:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
    return not path.exists()


def _place(ledger: Ledger, run: str) -> RunPlace:
    return RunPlace(ledger.home / "runs" / run)


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _size(path: Path) -> int:
    """Of a file, or of all files below a directory."""
    size = 0
    for each in (path, *path.rglob("*")):
        with contextlib.suppress(OSError):
            found = each.lstat()
            size += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return size
