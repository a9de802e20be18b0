"""The checkpoints of a run beside one another: which are whole, which is the newest, which may go."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import CheckpointError
from holdfast.faults import reached
from holdfast.ledger.checkpoints.layout import (
    CheckpointInfo,
    CorruptError,
    discard,
    draft_path,
    draft_pid,
    step_of,
)
from holdfast.ledger.checkpoints.read import Reader


class Rejected(NamedTuple):
    """A checkpoint that was passed over, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint on disk: whole, with `info`, or not, with the reason."""

    step: int
    path: Path
    info: CheckpointInfo | None
    reason: str | None


def scan(root: Path) -> list[Found]:
    """All checkpoints below `root`, newest first, each read to its last byte; drafts are not among them."""
    return [_examined(path, thorough=True) for path in _newest_first(root)]


def newest(root: Path) -> tuple[CheckpointInfo | None, list[Rejected]]:
    """The newest checkpoint that is whole to the last byte, and the newer ones that are not."""
    rejected: list[Rejected] = []
    for path in _newest_first(root):
        found = _examined(path, thorough=True)
        if found.info:
            return found.info, rejected
        rejected.append(Rejected(path, found.reason or ""))
    return None, rejected


def retain(root: Path, keep: int, step: int) -> list[Path]:
    """Removes those older than the newest `keep` (at least 1) that look whole, up to the one of `step`; names them.

    One that does not look whole is no reason to give up an older one, so it does not count. Neither does one that is
    newer than the checkpoint of `step`, which has just been written: if it were whole, the run would be further.
    """
    if keep < 1:
        raise ValueError(f"keep is {keep}; the last checkpoint must stay")
    whole, removed = 0, []
    for path in _newest_first(root):
        if (step_of(path) or 0) > step:
            continue
        if whole == keep:
            _remove(path)
            removed.append(path)
        else:
            whole += _examined(path, thorough=False).info is not None
    return removed


def sweep(root: Path) -> list[Path]:
    """Removes the drafts of processes that no longer live on this host, and names them."""
    removed = []
    for path in _entries(root):
        pid = draft_pid(path)
        if pid is not None and not _lives(pid):
            discard(path)
            removed.append(path)
    return removed


def _newest_first(root: Path) -> list[Path]:
    steps = {path: step for path in _entries(root) if (step := step_of(path)) is not None}
    return sorted(steps, key=lambda path: steps[path], reverse=True)


def _entries(root: Path) -> list[Path]:
    try:
        return list(root.iterdir()) if root.is_dir() else []
    except OSError as error:
        raise CheckpointError(f"the checkpoints in {root} cannot be looked at ({error.strerror})") from error


def _examined(path: Path, thorough: bool) -> Found:
    step = step_of(path) or 0
    try:
        with Reader(path) as reader:
            if thorough:
                reader.check()
            return Found(step, path, reader.info, None)
    except CorruptError as error:
        return Found(step, path, None, error.reason)


def _remove(path: Path) -> None:
    # Renamed first: a removal cut short must leave a draft to be swept, not a checkpoint that looks broken.
    going = draft_path(path.parent, step_of(path) or 0)
    try:
        path.rename(going)
    except OSError as error:
        raise CheckpointError(f"the old checkpoint {path} cannot be removed ({error.strerror})") from error
    reached("checkpoint.going")
    discard(going)


def _lives(pid: int) -> bool:
    """A process that has ended and that nobody has asked why writes no more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
