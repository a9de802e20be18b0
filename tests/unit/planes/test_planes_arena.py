"""Shared memory: seen by everybody who maps it, given back in pages, and refused when it cannot fit."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import ResourceError
from holdfast.planes import arena as arenas
from holdfast.planes.arena import PAGE, Arena, create, is_arena, require_memory


@pytest.fixture
def descriptor() -> Iterator[int]:
    fd = create("test")
    yield fd
    os.close(fd)


def test_two_mappings_are_one_memory(descriptor: int) -> None:
    first, second = Arena(descriptor, 3 * PAGE), Arena(descriptor, 3 * PAGE)
    first.bytes_at(PAGE, 4)[:] = b"here"
    assert bytes(second.bytes_at(PAGE, 4)) == b"here"


def test_it_has_no_name_and_is_inherited(descriptor: int) -> None:
    assert os.get_inheritable(descriptor)
    assert not any(name.startswith("holdfast") for name in os.listdir("/dev/shm"))


def test_who_maps_more_makes_it_grow_and_who_maps_less_does_not_shrink_it(descriptor: int) -> None:
    Arena(descriptor, PAGE)
    Arena(descriptor, 3 * PAGE)
    Arena(descriptor, 2 * PAGE)
    assert os.fstat(descriptor).st_size == 3 * PAGE


def test_what_is_released_reads_as_zeros(descriptor: int) -> None:
    arena = Arena(descriptor, 4 * PAGE)
    arena.buffer[:] = b"x" * 4 * PAGE
    arena.release(PAGE, 2 * PAGE)
    assert bytes(arena.buffer) == b"x" * PAGE + bytes(2 * PAGE) + b"x" * PAGE


@pytest.mark.parametrize(("offset", "size"), [(1, 2 * PAGE), (PAGE - 1, 2 * PAGE), (PAGE, 2 * PAGE - 1)])
def test_neighbours_of_what_is_released_stay(descriptor: int, offset: int, size: int) -> None:
    """A page that is not wholly in the range is somebody else's as well."""
    arena = Arena(descriptor, 4 * PAGE)
    arena.buffer[:] = b"x" * 4 * PAGE
    arena.release(offset, size)
    assert bytes(arena.buffer[:offset]) == b"x" * offset
    assert bytes(arena.buffer[offset + size :]) == b"x" * (4 * PAGE - offset - size)
    assert arena.buffer.tobytes().count(0) == PAGE


@pytest.mark.parametrize(("offset", "size"), [(0, PAGE - 1), (10, PAGE), (PAGE, 0)])
def test_less_than_a_page_is_not_released(descriptor: int, offset: int, size: int) -> None:
    arena = Arena(descriptor, 2 * PAGE)
    arena.buffer[:] = b"x" * 2 * PAGE
    arena.release(offset, size)
    assert bytes(arena.buffer) == b"x" * 2 * PAGE


def test_what_cannot_fit_is_refused_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arenas, "available_memory", lambda: 3 << 29)
    require_memory(3 << 29, "this job")
    with pytest.raises(ResourceError) as caught:
        require_memory(5 << 29, "this job")
    assert str(caught.value) == (
        "this job needs 2.50 GiB of memory, and 1.50 GiB are available; "
        "use a smaller model, fewer workers, or a machine with more memory"
    )


def test_available_is_the_least_of_the_machines_and_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < arenas.available_memory() < 2**50
    monkeypatch.setattr(arenas, "_group_available", lambda: 7)
    assert arenas.available_memory() == 7
    monkeypatch.setattr(arenas, "_machine_available", lambda: 5)
    assert arenas.available_memory() == 5


def test_only_its_owner_may_open_it_and_it_is_told_from_other_files(tmp_path: Path) -> None:
    fd = create("digits-1a2b3c")
    (tmp_path / "file").touch()
    other = os.open(tmp_path / "file", os.O_RDONLY)
    own = Path("/proc/self/fd")
    try:
        assert os.fstat(fd).st_mode & 0o777 == 0o600
        assert is_arena(own / str(fd), "digits-1a2b3c")
        assert not is_arena(own / str(fd), "digits-1a2b")
        assert not is_arena(own / str(other), "digits-1a2b3c")
    finally:
        os.close(fd)
        os.close(other)
