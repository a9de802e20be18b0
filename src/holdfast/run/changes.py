"""What was changed of a run's job while it trained, and from which step on: the run's history, in its directory.

A change is a file that the captain makes; its number says in which order changes hold. A second file, made by the
leader of the view in the step that is to be the first with it, says which step that is. Both are on disk before
anything depends on them, and neither is ever made twice, so whoever goes on with the run, or repeats it, does the same.
"""

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import RunError
from holdfast.faults import reached
from holdfast.job import Job
from holdfast.job.changes import changed
from holdfast.ledger.checkpoints import sync_directory

_MOST = 9_999


@dataclass(frozen=True)
class Change:
    """Assignments, and the first step that they hold in, once that is fixed."""

    sets: tuple[str, ...]
    from_step: int | None = None

    def __str__(self) -> str:
        """As people are told of it."""
        return ", ".join(text.replace("=", " = ", 1) for text in self.sets)


class Changes:
    """Those of one run. Each process has its own; they meet on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._steps: list[int] = []

    def all(self) -> list[Change]:
        """In their order; only the last ones can have no step yet."""
        found: list[Change] = []
        while (said := _read(self._change(len(found) + 1))) is not None:
            step = _read(self._step(len(found) + 1))
            found.append(Change(tuple(json.loads(said)), None if step is None else int(step)))
        return found

    def count(self) -> int:
        return len(self.all())

    def add(self, job: Job, assignments: Sequence[str]) -> int:
        """Put one on record behind all others; its number. Raises JobError for what `job` cannot be changed to."""
        while True:
            made = self.all()
            changed(_after(job, made), assignments)
            number = len(made) + 1
            if number > _MOST:
                raise RunError(f"a run can be changed {_MOST:,} times and not more often; begin another run")
            # A captain that was superseded, and does not know it yet, may be at the same.
            if _create(self._change(number), json.dumps(list(assignments))):
                return number

    def copy_to(self, other: "Changes", before_step: int) -> None:
        """The history of another run begins with what this one was given before that step."""
        for number, change in enumerate(self.all(), 1):
            if change.from_step is not None and change.from_step < before_step:
                _create(other._change(number), json.dumps(list(change.sets)))
                _create(other._step(number), str(change.from_step))

    def holding(self, step: int, count: int) -> int:
        """How many of the first `count` changes hold in `step`; those that have no first step get this one.

        Only the leader calls it, before anybody can be past the step's gathering.
        """
        while len(self._steps) < count:
            path, least = self._step(len(self._steps) + 1), self._steps[-1] if self._steps else 0
            if not path.exists():
                _create(path, str(max(step, least)))
                reached("change.fixed")
            self._steps.append(int(path.read_text()))
        return sum(first <= step for first in self._steps[:count])

    def job(self, job: Job, count: int) -> Job:
        """The job as the first `count` changes leave it."""
        return _after(job, self.all()[:count])

    def _change(self, number: int) -> Path:
        return self._folder / f"{number:05}.json"

    def _step(self, number: int) -> Path:
        return self._folder / f"{number:05}.step"


def _after(job: Job, changes: Sequence[Change]) -> Job:
    return changed(job, [text for change in changes for text in change.sets])


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None


def _create(path: Path, text: str) -> bool:
    """Whole and on disk, or not at all; False when it was there already."""
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f"{path.name}.draft-{secrets.token_hex(4)}-{os.getpid()}")
    with draft.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    reached("change.drafted")
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    sync_directory(path.parent)
    return True
