"""Job files change what can be imported; each test gives that back."""

import sys
from collections.abc import Iterator

import pytest

from holdfast.job.imports import FILE_MODULE


@pytest.fixture(autouse=True)
def _imports_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(FILE_MODULE) or name in ("beside_the_job", "neighbour_of_net"):
            del sys.modules[name]
