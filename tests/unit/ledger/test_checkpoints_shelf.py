import os
import shutil
import subprocess
import sys

import pytest
from checkpoint_cases import contents, names, state
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import CheckpointError
from holdfast.ledger import checkpoints
from holdfast.ledger.checkpoints import CorruptError, Reader

FILES = ["state.safetensors", "manifest.json", "COMMITTED"]

pytestmark = pytest.mark.usefixtures("small_chunks")


def flip(file, position, mask=1):
    content = bytearray(file.read_bytes())
    content[position] ^= mask
    file.write_bytes(content)


def test_no_changed_byte_goes_unnoticed(tmp_path):
    before = checkpoints.write(tmp_path, 1, state(), {})
    after = checkpoints.write(tmp_path, 2, state(), {})

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from(FILES), st.floats(0, 1, exclude_max=True), st.integers(1, 255))
    def attack(name, where, mask):
        file = after.path / name
        position = int(where * file.stat().st_size)
        flip(file, position, mask)
        found, rejected = checkpoints.newest(tmp_path)
        flip(file, position, mask)
        assert found == before
        assert [one.path for one in rejected] == [after.path]

    attack()
    assert checkpoints.newest(tmp_path) == (after, [])


@pytest.mark.parametrize("name", FILES)
def test_no_truncation_goes_unnoticed(tmp_path, name):
    file = checkpoints.write(tmp_path, 1, state(), {}).path / name
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert checkpoints.verify(file.parent) is not None
    file.write_bytes(whole)
    assert checkpoints.verify(file.parent) is None


def test_any_corrupt_data_are_refused_when_read(tmp_path):
    """A reader that never verified still gives no wrong byte away."""
    info = checkpoints.write(tmp_path, 1, state(), {})
    with Reader(info.path) as reader:
        first = reader.sections["weight"].offset
    for position in range(first, info.bytes):
        flip(info.path / "state.safetensors", position)
        refused = {}
        with Reader(info.path) as reader:
            for name, content in contents(state()).items():
                try:
                    assert bytes(reader.bytes(name)) == content
                except CorruptError as error:
                    refused[name] = error.reason
        assert len(refused) == 1
        assert all(f"of section `{name}` is corrupt" in reason for name, reason in refused.items())
        flip(info.path / "state.safetensors", position)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda path: (path / "COMMITTED").unlink(), "there is no COMMITTED marker"),
        (lambda path: (path / "manifest.json").unlink(), "manifest.json is missing"),
        (lambda path: (path / "state.safetensors").unlink(), "state.safetensors is missing"),
        (lambda path: flip(path / "manifest.json", 5), "manifest.json does not have the checksum"),
        (lambda path: flip(path / "COMMITTED", 64), "manifest.json does not have the checksum"),
        (lambda path: flip(path / "state.safetensors", 9), "the header of state.safetensors is corrupt"),
        (lambda path: flip(path / "state.safetensors", -1), "chunk 0 of section `step` is corrupt"),
        (lambda path: flip(path / "state.safetensors", -23), "chunk 3 of section `weight` is corrupt"),
        (lambda path: os.truncate(path / "state.safetensors", 9), "state.safetensors has 9 bytes where"),
        (lambda path: (path / "COMMITTED").unlink() or (path / "COMMITTED").mkdir(), "cannot be read"),
        (lambda path: shutil.rmtree(path) or path.touch(), "COMMITTED cannot be read"),
    ],
)
def test_the_reason_is_named(tmp_path, harm, reason):
    good = checkpoints.write(tmp_path, 1, state(), {})
    bad = checkpoints.write(tmp_path, 2, state(), {})
    harm(bad.path)
    found = checkpoints.scan(tmp_path)
    assert [(one.step, one.path, one.info) for one in found] == [(2, bad.path, None), (1, good.path, good)]
    assert reason in found[0].reason
    assert found[1].reason is None


def test_a_manifest_of_another_format_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints.layout, "FORMAT", 2)
    info = checkpoints.write(tmp_path, 1, state(), {})
    monkeypatch.undo()
    assert "its format is 2, and this version of holdfast reads 1" in checkpoints.verify(info.path)


def test_data_cut_short_behind_an_open_reader_are_noticed(tmp_path):
    info = checkpoints.write(tmp_path, 1, state(), {})
    with Reader(info.path) as reader:
        os.truncate(info.path / "state.safetensors", info.bytes - 1)
        with pytest.raises(CorruptError, match="ends too early"):
            reader.bytes("step")


def test_a_section_is_asked_for_by_its_name_and_length(tmp_path):
    info = checkpoints.write(tmp_path, 1, state(), {})
    with Reader(info.path) as reader:
        with pytest.raises(CheckpointError, match="has no section `weigth`; did you mean `weight`"):
            reader.bytes("weigth")
        with pytest.raises(CheckpointError, match=r"`bias` of .* has 14 bytes, not 16; resume with"):
            reader.read_into("bias", memoryview(bytearray(16)))


def test_steps_are_ordered_as_numbers_and_other_names_ignored(tmp_path):
    for step in (5, 100_000_000, 99_999_999):
        checkpoints.write(tmp_path, step, state(), {})
    for name in ("step-7", "other", "step-00000009.tmp-1-ab"):
        (tmp_path / name).mkdir()
    assert [one.step for one in checkpoints.scan(tmp_path)] == [100_000_000, 99_999_999, 5]


def test_where_nothing_is_there_is_nothing(tmp_path):
    nowhere = tmp_path / "nowhere"
    assert checkpoints.scan(nowhere) == []
    assert checkpoints.newest(nowhere) == (None, [])
    assert checkpoints.retain(nowhere, keep=1, step=1) == checkpoints.sweep(nowhere) == []


def test_all_bad_is_none_with_all_reasons(tmp_path):
    for step in (1, 2):
        flip(checkpoints.write(tmp_path, step, state(), {}).path / "COMMITTED", 0)
    found, rejected = checkpoints.newest(tmp_path)
    assert found is None
    assert [(one.path.name, "checksum" in one.reason) for one in rejected] == [
        ("step-00000002", True),
        ("step-00000001", True),
    ]


def test_retain_keeps_the_newest(tmp_path):
    infos = [checkpoints.write(tmp_path, step, state(), {}) for step in (1, 2, 3, 4)]
    assert checkpoints.retain(tmp_path, keep=2, step=4) == [infos[1].path, infos[0].path]
    assert names(tmp_path) == ["step-00000003", "step-00000004"]
    assert checkpoints.retain(tmp_path, keep=2, step=4) == []


def test_retain_does_not_count_what_is_not_whole(tmp_path):
    infos = [checkpoints.write(tmp_path, step, state(), {}) for step in (1, 2, 3)]
    (infos[2].path / "COMMITTED").unlink()
    assert checkpoints.retain(tmp_path, keep=1, step=3) == [infos[0].path]
    assert checkpoints.newest(tmp_path)[0] == infos[1]


def test_retain_neither_counts_nor_takes_what_is_newer_than_what_was_written(tmp_path):
    """The newest is corrupt, and so far only who has read it knows; the run has gone on from the one before."""
    infos = [checkpoints.write(tmp_path, step, state(), {}) for step in (10, 50, 100)]
    flip(infos[2].path / "state.safetensors", -1)
    again = checkpoints.write(tmp_path, 60, state(), {})
    assert checkpoints.retain(tmp_path, keep=1, step=60) == [infos[1].path, infos[0].path]
    assert checkpoints.newest(tmp_path)[0] == again


def test_retain_never_removes_all(tmp_path):
    with pytest.raises(ValueError, match="keep is 0"):
        checkpoints.retain(tmp_path, keep=0, step=1)


def test_sweep_takes_the_drafts_of_the_dead_only(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    dead = tmp_path / f"step-00000002.tmp-{process.pid}-0a1b2c3d"
    alive = tmp_path / f"step-00000002.tmp-{os.getpid()}-0a1b2c3d"
    for draft in (dead, alive):
        draft.mkdir()
        (draft / "state.safetensors").write_bytes(bytes(64))
    whole = checkpoints.write(tmp_path, 1, state(), {})
    assert checkpoints.sweep(tmp_path) == [dead]
    assert names(tmp_path) == sorted([whole.path.name, alive.name])
