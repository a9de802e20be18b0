"""Nobody but its owner gets at a run: neither its directory, nor its key, nor its socket, nor its memory."""

import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.job import Job
from holdfast.ledger import Ledger
from holdfast.planes.arena import create
from holdfast.planes.channel import Peer, connect
from holdfast.planes.listener import Listener
from holdfast.run.place import RunPlace

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else, to try what others may")


def as_nobody(attempt: Callable[[], object]) -> int:
    """Tried in a process of another user: the error's number, or 0 when it went well."""
    child = os.fork()
    if child == 0:
        code = 255
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            attempt()
            code = 0
        except OSError as error:
            code = error.errno or 254
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Run:
    """As runs are while they are executed, made where everybody may go, by somebody who hides nothing by himself."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        Ledger.open(self.home).close()
        self.place = RunPlace(self.home / "runs" / "digits-1a2b3c")
        self.place.prepare(Job(model="cnn", data="digits", steps=1))
        self.place.write_standing(1, {})
        self.refused: list[tuple[Peer, str]] = []
        self.listener = Listener(self.place.socket, self.place.key, lambda *told: self.refused.append(told))
        self.arena = create("digits-1a2b3c")

    def knock(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.connect(str(self.place.socket))


@pytest.fixture
def run() -> Iterator[Run]:
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    before = os.umask(0)
    made = Run(root)
    yield made
    os.umask(before)
    made.listener.close()
    os.close(made.arena)
    shutil.rmtree(root)


def test_the_directories_keep_others_out(run: Run) -> None:
    assert run.home.stat().st_mode & 0o777 == 0o700
    assert run.place.root.stat().st_mode & 0o777 == 0o700
    inside = [run.home / "ledger.db", run.place.root / "key", run.place.root / "standing-00000001.json"]
    run.home.chmod(0o755)
    assert as_nobody(run.place.root.stat) == 0
    assert as_nobody(lambda: os.listdir(run.place.root)) == errno.EACCES
    assert [as_nobody(path.read_bytes) for path in inside[1:]] == [errno.EACCES] * 2
    assert as_nobody(run.knock) == errno.EACCES
    assert as_nobody((run.place.root / "new").touch) == errno.EACCES
    run.home.chmod(0o700)
    assert [as_nobody(path.read_bytes) for path in inside] == [errno.EACCES] * 3


def test_key_and_socket_are_private_even_where_the_directories_are_not(run: Run) -> None:
    for directory in (run.home, run.place.root.parent, run.place.root):
        directory.chmod(0o777)
    assert as_nobody((run.place.root / "key").read_bytes) == errno.EACCES
    assert as_nobody(run.knock) == errno.EACCES


def test_who_gets_through_to_the_socket_and_knows_the_key_is_still_another_user(run: Run) -> None:
    key = run.place.key
    for path in (run.home, run.place.root.parent, run.place.root, run.place.socket):
        path.chmod(0o777)
    assert as_nobody(lambda: connect(run.place.socket, key, {"kind": "stop"})) == 0
    assert run.listener.accept(0.0) == []
    ((peer, why),) = run.refused
    assert (peer.uid, why) == (NOBODY, "it belongs to another user")


def test_the_memory_is_out_of_reach(run: Run) -> None:
    path = Path(f"/proc/{os.getpid()}/fd/{run.arena}")
    os.close(os.open(path, os.O_RDWR))
    assert as_nobody(lambda: os.open(path, os.O_RDONLY)) == errno.EACCES
