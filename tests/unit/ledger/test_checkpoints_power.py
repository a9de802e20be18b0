"""The power fails at any moment while checkpoints are written, and takes what was not synced. What was saved stays."""

import importlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from checkpoint_cases import contents, names, state
from power import Aftermath, Recorder, aftermaths, lay_out

from holdfast.ledger import checkpoints
from holdfast.ledger.checkpoints import Reader, shelf

History = list[tuple[int, int]]
"""Steps whose checkpoints are written, and how many are kept each time."""
HISTORIES: dict[str, History] = {
    "one after the other": [(1, 1), (2, 1)],
    "twice the same, and on": [(5, 1), (5, 1), (6, 1)],
}
_writing = importlib.import_module("holdfast.ledger.checkpoints.write")


class Ward:
    """Writes a history, and looks at what a power cut makes of it."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._recorder = Recorder(place / "disk")

    def write(self, history: History) -> None:
        (self._place / "disk").mkdir()
        root = self._place / "disk" / "checkpoints"
        with self._recorder.recording():
            for version, (step, keep) in enumerate(history):
                checkpoints.write(root, step, state(version), {"version": version})
                self._recorder.say("saved")
                checkpoints.retain(root, keep, step)
        assert len(names(root)) <= max(keep for _, keep in history)

    def aftermaths(self, seed: int) -> set[Aftermath]:
        return aftermaths(self._recorder, seed)

    def complaint(self, aftermath: Aftermath) -> str:
        """What is wrong with it: nothing if the last that was saved is found whole, or the one that came next."""
        disk = self._place / "after"
        root = disk / "checkpoints"
        lay_out(aftermath.tree, disk)
        try:
            return self._what_is_wrong(root, len(aftermath.said)) or self._what_stays(root)
        finally:
            shutil.rmtree(disk)

    def _what_is_wrong(self, root: Path, saved: int) -> str:
        found, rejected = checkpoints.newest(root)
        if rejected:
            return f"passed over: {rejected[0].path.name}: {rejected[0].reason}"
        if found is None:
            return "lost" if saved else ""
        with Reader(found.path) as reader:
            version = reader.meta["version"]
            whole = {name: bytes(reader.bytes(name)) for name in reader.sections} == contents(state(version))
        return "" if whole and version in (saved - 1, saved) else "lost"

    def _what_stays(self, root: Path) -> str:
        before = checkpoints.newest(root)[0]
        checkpoints.sweep(root)
        if any("tmp" in name for name in (names(root) if root.exists() else [])):
            return "not swept"
        if checkpoints.newest(root)[0] != before:
            return "swept too much"
        again = checkpoints.write(root, 9, state(9), {"version": 9})
        return "" if checkpoints.newest(root) == (again, []) else "cannot be written again"


@pytest.fixture
def ward(quick_disk: Path, small_chunks: None, monkeypatch: pytest.MonkeyPatch) -> Ward:
    # Whoever wrote drafts died in the power cut; and in this one's life there is none, so nothing need reach the disk.
    monkeypatch.setattr(shelf, "_lives", lambda _: False)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(os, "fdatasync", lambda _: None)
    return Ward(quick_disk)


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_what_was_saved_survives_a_power_cut_at_any_moment(ward: Ward, history: History) -> None:
    ward.write(history)
    found = ward.aftermaths(seed=1)
    assert len(found) > 100
    assert {ward.complaint(one) for one in found} == {""}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 22))
def test_what_was_saved_survives_many_power_cuts(ward: Ward, seed: int) -> None:
    ward.write([(1, 2), (2, 2), (2, 1), (3, 1)])
    assert {ward.complaint(one) for one in ward.aftermaths(seed)} == {""}


def removed_first(draft: Path, final: Path) -> None:
    if final.exists():
        shutil.rmtree(final)
    draft.rename(final)
    _writing.sync_directory(final.parent)


def not_synced_before_the_old_goes(draft: Path, final: Path) -> None:
    if not final.exists():
        draft.rename(final)
    else:
        _writing._exchange(draft, final)


CARELESS: list[tuple[str, Callable[..., object]]] = [
    ("sync_directory", lambda _: None),
    ("_make", lambda root: root.mkdir(exist_ok=True)),
    ("_exchange", lambda *_: False),
    ("_put_in_place", removed_first),
    ("_put_in_place", not_synced_before_the_old_goes),
]


@pytest.mark.parametrize(("step", "instead"), CARELESS)
def test_what_is_done_carelessly_is_found_out(
    ward: Ward, monkeypatch: pytest.MonkeyPatch, step: str, instead: Callable[..., object]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(_writing, step, instead)
        ward.write([(5, 1), (5, 1)])
    assert any(ward.complaint(one) == "lost" for one in ward.aftermaths(seed=1))


def test_contents_that_are_not_synced_are_found_out(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "_sync", only_directories(Recorder._sync))
        ward.write([(5, 1)])
    assert any(ward.complaint(one).startswith("passed over") for one in ward.aftermaths(seed=1))


def only_directories(sync: Callable[..., None]) -> Callable[..., None]:
    def careless(recorder: Recorder, done: None, fd: int) -> None:
        if recorder._opened.get(fd) in recorder.directories:
            sync(recorder, done, fd)

    return careless
