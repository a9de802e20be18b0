"""Import paths lead to objects, and every way that they do not is a sentence."""

import os
import sys
from pathlib import Path

import cloudpickle
import pytest

from holdfast.errors import JobError
from holdfast.job.imports import FILE_MODULE, base_dir_now, is_import_path, resolve


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_modules_and_nested_attributes(tmp_path: Path) -> None:
    assert resolve("os.path:join", tmp_path) is os.path.join
    assert resolve("pathlib:Path.exists", tmp_path) is Path.exists


def test_packages_beside_the_job_file(tmp_path: Path) -> None:
    write(tmp_path / "beside_the_job.py", "thing = 5\n")
    assert resolve("beside_the_job:thing", tmp_path) == 5


def test_files_and_their_neighbours(tmp_path: Path) -> None:
    write(tmp_path / "neighbour_of_net.py", "width = 7\n")
    write(tmp_path / "net.py", "from neighbour_of_net import width\nclass Net: pass\n")
    assert resolve("net.py:width", tmp_path) == 7
    assert resolve("net.py:Net", tmp_path) is resolve(f"{tmp_path}/net.py:Net", Path("/"))


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    write(tmp_path / "net.py", "thing = 1\n")
    assert resolve("net.py:thing", tmp_path) == 1
    write(tmp_path / "net.py", "thing = 2\n")
    assert resolve("net.py:thing", tmp_path) == 2


def test_objects_of_a_file_carry_their_code_along(tmp_path: Path) -> None:
    net = resolve(f"{write(tmp_path / 'net.py', 'class Net:  size = 3').name}:Net", tmp_path)
    sent = cloudpickle.dumps(net())
    del sys.modules[net.__module__]
    assert cloudpickle.loads(sent).size == 3


def test_a_file_is_its_own_base(tmp_path: Path) -> None:
    write(tmp_path / "where.py", "from holdfast.job.imports import base_dir_now\nbase = base_dir_now()\n")
    assert resolve("where.py:base", tmp_path) == tmp_path
    assert base_dir_now() == Path.cwd()


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        ("cnn", "`cnn` is not an import path: write `package.module:attr` or `path/file.py:attr`"),
        (":x", "`:x` is not an import path"),
        ("<python>:Net", "`<python>:Net` was a Python object, which no import can find again"),
        ("gone.py:x", "cannot read `.*gone.py` for `gone.py:x`: No such file or directory"),
        ("no_such_module.sub:x", "there is no module `no_such_module` for `no_such_module.sub:x`, neither"),
        ("os.no_such:x", r"there is no module `os\.no_such` for `os\.no_such:x`"),
        ("os.path:joyn", "there is no `joyn` for `os.path:joyn`; did you mean `join`?"),
        ("fails.py:x", r"`fails\.py:x` failed at .*fails\.py:2: KeyError: 'a'"),
        ("syntax.py:x", r"`syntax\.py:x` failed at .*syntax\.py:3: SyntaxError: "),
        ("leaves.py:x", r"`leaves\.py:x` failed at .*leaves\.py:2: SystemExit: 3"),
        (
            "needs.py:x",
            r"`needs\.py:x` failed at .*needs\.py:1: ModuleNotFoundError: .*'no_such'",
        ),
        ("needs_too:x", r"`needs_too:x` failed at .*needs_too\.py:1: ModuleNotFoundError: .*'no_such'"),
    ],
)
def test_mistakes(tmp_path: Path, use: str, sentence: str) -> None:
    write(tmp_path / "fails.py", "x = {}\nx['a']\n")
    write(tmp_path / "syntax.py", "\n\nx = = 1\n")
    write(tmp_path / "leaves.py", "import sys\nsys.exit(3)\n")
    write(tmp_path / "needs.py", "import no_such\n")
    write(tmp_path / "needs_too.py", "import no_such\n")
    with pytest.raises(JobError, match=sentence):
        resolve(use, tmp_path)


def test_a_file_that_failed_leaves_no_module(tmp_path: Path) -> None:
    write(tmp_path / "fails.py", "1 / 0\n")
    with pytest.raises(JobError):
        resolve("fails.py:x", tmp_path)
    assert not [name for name in sys.modules if name.startswith(f"{FILE_MODULE}fails")]


def test_is_import_path() -> None:
    assert is_import_path("a.b:c")
    assert not is_import_path("cnn")
