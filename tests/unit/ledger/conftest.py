import os
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from holdfast.ledger import Ledger, Run
from holdfast.ledger.checkpoints import layout, read


class Clock:
    """A clock that stands until it is moved."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "home", clock) as opened:
        yield opened


@pytest.fixture
def run(ledger: Ledger) -> Run:
    return ledger.create_run(
        "digits",
        job={"name": "digits", "train": {"steps": 10}},
        fingerprint="0123456789abcdef",
        environment={"torch": "2.13.0"},
        workers=2,
        steps_total=10,
        pid=42,
    )


@pytest.fixture
def quick_disk() -> Iterator[Path]:
    """An empty directory in memory, where there is one: for tests that make and remove thousands of files."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as place:
        yield Path(place)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 64 bytes instead of 4 MiB, so that a small state has several, and is brought to the disk in between."""
    monkeypatch.setattr(import_module("holdfast.ledger.checkpoints.write"), "_SETTLE_BYTES", 128)
    for module in (layout, read):
        monkeypatch.setattr(module, "CHUNK_BYTES", 64)
