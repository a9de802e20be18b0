import os

import numpy as np
import pytest
import safetensors.numpy
from checkpoint_cases import contents, names, state

from holdfast.errors import CheckpointError
from holdfast.ledger import checkpoints
from holdfast.ledger.checkpoints import Reader, Section, layout


def test_what_is_written_is_read(tmp_path):
    info = checkpoints.write(tmp_path / "a" / "b", 1000, state(), {"epoch": 3, "names": ["ä"]})
    assert info.path == tmp_path / "a" / "b" / "step-00001000"
    assert names(info.path) == ["COMMITTED", "manifest.json", "state.safetensors"]
    assert info.bytes == (info.path / "state.safetensors").stat().st_size
    with Reader(info.path) as reader:
        assert (reader.step, reader.meta, reader.info) == (1000, {"epoch": 3, "names": ["ä"]}, info)
        assert {name: bytes(reader.bytes(name)) for name in reader.sections} == contents(state())
        assert reader.sections["weight"].shape == (5, 10)
    assert checkpoints.verify(info.path) is None


def test_a_section_longer_than_a_chunk_is_read_in_place(tmp_path):
    array = np.arange((layout.CHUNK_BYTES * 2 + 800) // 8, dtype=np.float64)
    told = []
    info = checkpoints.write(tmp_path, 1, [Section("x", "F64", array.shape, memoryview(array))], {}, told.append)
    back = np.zeros_like(array)
    with Reader(info.path) as reader:
        assert len(reader.sections["x"].crc32) == 3
        reader.read_into("x", memoryview(back))
    assert np.array_equal(array, back)
    assert told == sorted(told)
    assert len(told) == 3
    assert told[-1] == info.bytes


def test_the_data_are_a_plain_safetensors_file(tmp_path):
    arrays = {
        "weight": np.arange(12, dtype=np.float32).reshape(3, 4),
        "ids": np.array([], dtype=np.int64).reshape(0, 2),
        "flag": np.array([True, False, True]),
        "scalar": np.array(2.5),
        "ünï/cødé": np.array([7], dtype=np.uint16),
    }
    kinds = {"weight": "F32", "ids": "I64", "flag": "BOOL", "scalar": "F64", "ünï/cødé": "U16"}
    sections = [Section(name, kinds[name], a.shape, memoryview(a)) for name, a in arrays.items()]
    info = checkpoints.write(tmp_path, 1, sections, {})
    loaded = safetensors.numpy.load_file(info.path / "state.safetensors")
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype
        assert np.array_equal(loaded[name], array)


@pytest.mark.parametrize("length", range(1, 65, 9))
def test_the_data_begin_where_a_vector_register_can_load_them(tmp_path, length):
    info = checkpoints.write(tmp_path, 1, [Section("x" * length, "U8", (1,), memoryview(b"1"))], {})
    with Reader(info.path) as reader:
        assert reader.sections["x" * length].offset % 64 == 0


def test_a_state_without_sections_is_a_state(tmp_path):
    info = checkpoints.write(tmp_path, 0, [], {})
    assert safetensors.numpy.load_file(info.path / "state.safetensors") == {}
    assert checkpoints.newest(tmp_path) == (info, [])


def test_the_same_step_again_takes_its_place(tmp_path):
    checkpoints.write(tmp_path, 5, state(1), {"try": 1})
    info = checkpoints.write(tmp_path, 5, state(2), {"try": 2})
    assert names(tmp_path) == ["step-00000005"]
    with Reader(info.path) as reader:
        assert reader.meta == {"try": 2}
        assert bytes(reader.bytes("weight")) == contents(state(2))["weight"]


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        (Section("x", "F32", (2,), memoryview(bytes(7))), r"`x` has 7 bytes; shape \(2,\) of F32 needs 8"),
        (Section("x", "float32", (2,), memoryview(bytes(8))), "`x` has dtype `float32`; use one of BOOL"),
        (Section("weight", "U8", (1,), memoryview(b"1")), "name `weight` is taken"),
        (Section("__metadata__", "U8", (1,), memoryview(b"1")), "name `__metadata__` is taken"),
        (Section("x", "U8", (4,), memoryview(bytes(8))[::2]), "contiguous"),
    ],
)
def test_a_section_that_does_not_fit_is_refused(tmp_path, section, sentence):
    with pytest.raises(CheckpointError, match=sentence):
        checkpoints.write(tmp_path, 1, [*state(), section], {})
    assert names(tmp_path) == []


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, view: real(fd, view[: max(1, len(view) // 2)]))
        info = checkpoints.write(tmp_path, 1, state(), {})
    assert checkpoints.verify(info.path) is None


def test_an_interrupt_is_passed_on_and_leaves_nothing(tmp_path):
    def interrupt(_written):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checkpoints.write(tmp_path, 1, state(), {}, interrupt)
    assert names(tmp_path) == []


def test_a_root_that_is_a_file_is_a_sentence(tmp_path):
    (tmp_path / "root").touch()
    with pytest.raises(CheckpointError, match=r"could not be written to .*/root \("):
        checkpoints.write(tmp_path / "root", 1, state(), {})
