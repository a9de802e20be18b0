"""What the tests of checkpoints share: a small state, and ways to look at what became of it."""

import random
from pathlib import Path

from holdfast.ledger.checkpoints import Section


def state(seed: int = 0) -> list[Section]:
    content = random.Random(seed).randbytes
    return [
        Section("weight", "F32", (5, 10), memoryview(content(200))),
        Section("empty", "F32", (0, 3), memoryview(b"")),
        Section("bias", "BF16", (7,), memoryview(content(14))),
        Section("step", "I64", (), memoryview(content(8))),
    ]


def contents(sections: list[Section]) -> dict[str, bytes]:
    return {section.name: bytes(section.data) for section in sections}


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())
