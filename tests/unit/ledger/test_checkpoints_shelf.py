import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def zeroed(file, start, length):
    content = bytearray(file.read_bytes())
    content[start : start + length] = bytes(length)
    file.write_bytes(content)


def lengthened(file):
    file.write_bytes(file.read_bytes() + b"\n")


def swapped(one, other):
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def in_place(path, thing):
    path.unlink()
    thing(path)


HARM = {
    "a hole": lambda old, new: zeroed(new / "state.safetensors", 400, 64),
    "data of another step": lambda old, new: shutil.copy(old / "state.safetensors", new),
    "manifest of another step": lambda old, new: shutil.copy(old / "manifest.json", new),
    "marker of another step": lambda old, new: shutil.copy(old / "COMMITTED", new),
    "all but the data of another step": lambda old, new: [
        shutil.copy(old / name, new) for name in ("manifest.json", "COMMITTED")
    ],
    "two files in each other's place": lambda old, new: swapped(new / "manifest.json", new / "state.safetensors"),
    "data longer than they were": lambda old, new: lengthened(new / "state.safetensors"),
    "a longer marker": lambda old, new: lengthened(new / "COMMITTED"),
    "an empty directory": lambda old, new: shutil.rmtree(new) or new.mkdir(),
    "a file in its place": lambda old, new: shutil.rmtree(new) or new.touch(),
    "a link that leads nowhere": lambda old, new: shutil.rmtree(new) or new.symlink_to("gone"),
    "a link to itself": lambda old, new: shutil.rmtree(new) or new.symlink_to(new),
    **{f"a directory as {name}": lambda old, new, name=name: in_place(new / name, Path.mkdir) for name in FILES},
    **{
        f"a link in a circle as {name}": lambda old, new, name=name: in_place(
            new / name, lambda path: path.symlink_to(path)
        )
        for name in FILES
    },
    **{
        f"a manifest that says {text}": lambda old, new, text=text: vouched(new, text)
        for text in ("[]", '"format"', "{}", "7", "null", '{"format": 1}', '{"format": 1, "sections": [7]}', "x")
    },
}


def vouched(path, text):
    """A manifest with a marker that agrees."""
    (path / "manifest.json").write_text(text)
    (path / "COMMITTED").write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n")


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_whatever_is_wrong_with_the_newest_the_one_before_is_taken(tmp_path, harm):
    old = checkpoints.write(tmp_path, 1, state(1), {})
    new = checkpoints.write(tmp_path, 2, state(2), {})
    harm(old.path, new.path)
    found, rejected = checkpoints.newest(tmp_path)
    assert found == old
    ((path, reason),) = rejected
    assert path == new.path
    assert reason
    again = checkpoints.write(tmp_path, 2, state(2), {})
    assert checkpoints.newest(tmp_path) == (again, [])
    assert names(tmp_path) == ["step-00000001", "step-00000002"]


def test_other_things_in_the_directories_disturb_nothing(tmp_path):
    old = checkpoints.write(tmp_path, 1, state(1), {})
    new = checkpoints.write(tmp_path, 2, state(2), {})
    for place in (tmp_path, old.path, new.path):
        (place / "lost+found").mkdir()
        (place / "notes.txt").write_text("x")
        (place / ".nfs000000001").touch()
        (place / os.fsdecode(b"\xff\xfe")).touch()
    (tmp_path / "step-00000003.tmp-x-y").mkdir()
    (tmp_path / "step-x").mkdir()
    assert checkpoints.newest(tmp_path) == (new, [])
    assert checkpoints.sweep(tmp_path) == []
    assert checkpoints.retain(tmp_path, 1, 2) == [old.path]
    assert checkpoints.newest(tmp_path) == (new, [])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else, to be refused")
@pytest.mark.parametrize("name", [*FILES, "."])
def test_what_may_not_be_read_is_passed_over(quick_disk, name):
    old = checkpoints.write(quick_disk, 1, state(1), {})
    new = checkpoints.write(quick_disk, 2, state(2), {})
    for path in (quick_disk, old.path, *old.path.iterdir(), new.path, *new.path.iterdir()):
        os.chown(path, 65534, 65534)
    (new.path / name).chmod(0)
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setuid(65534)
        found, rejected = checkpoints.newest(quick_disk)
        reasons = [reason for _, reason in rejected]
        os._exit(not (found == old and len(reasons) == 1 and "cannot be read (Permission denied)" in reasons[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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


def test_sweep_takes_the_drafts_of_a_process_that_nobody_has_asked_why_it_ended(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        draft = tmp_path / f"step-00000002.tmp-{process.pid}-0a1b2c3d"
        draft.mkdir()
        assert checkpoints.sweep(tmp_path) == [draft]


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
