from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def torch_as_it_was() -> Iterator[None]:
    """A worker sets what torch keeps per process; the next test shall not see that."""
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(strict)
    torch.utils.deterministic.fill_uninitialized_memory = filled


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 1024 elements instead of 262144, so that a small model has several."""
    monkeypatch.setattr("holdfast.step.layout.BLOCK", 1024)
