"""The door of a run: who has its key comes in, all others are turned away with a reason, and nobody is waited for."""

import array
import os
import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.planes import listener as doors
from holdfast.planes.channel import LIMIT, Channel, Closed, Message, Peer, connect
from holdfast.planes.listener import Listener

KEY = "k" * 64
NOW = 100.0
LATE = NOW + doors._GREETING_S + 0.1
MOST = doors._CALLERS
Raw = Callable[[], socket.socket]


class Door:
    """A listener that remembers whom it refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refused: list[str] = []
        self.listener = Listener(path, KEY, self._note)

    def accept(self, now: float = NOW) -> tuple[Channel, Message] | None:
        """One at most."""
        (*found,) = self.listener.accept(now)
        assert len(found) <= 1
        return found[0] if found else None

    def lets_in_a_friend(self) -> None:
        friend = connect(self.path, KEY, {"kind": "hello"})
        accepted = self.accept()
        assert accepted is not None
        assert accepted[1] == {"kind": "hello"}
        accepted[0].close()
        friend.close()

    def _note(self, peer: Peer, why: str) -> None:
        assert peer == (os.getpid(), os.getuid())
        self.refused.append(why)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


@pytest.fixture
def door(path: Path) -> Iterator[Door]:
    descriptors = len(os.listdir("/proc/self/fd"))
    door = Door(path)
    yield door
    door.listener.close()
    assert len(os.listdir("/proc/self/fd")) == descriptors


@pytest.fixture
def raw(door: Door) -> Iterator[Raw]:
    """Bare sockets, each connected to the door."""
    opened: list[socket.socket] = []

    def knock() -> socket.socket:
        opened.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        opened[-1].connect(str(door.path))
        return opened[-1]

    yield knock
    for connection in opened:
        connection.close()


def is_open(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def test_both_sides_speak(door: Door) -> None:
    mine = connect(door.path, KEY, {"kind": "hello", "worker": 3})
    accepted = door.accept()
    assert accepted is not None
    theirs, greeting = accepted
    assert greeting == {"kind": "hello", "worker": 3}
    assert theirs.peer == (os.getpid(), os.getuid())
    theirs.send({"kind": "propose", "text": "ä" * 100})
    mine.send({"kind": "one"})
    mine.send({"kind": "two"})
    assert mine.receive() == {"kind": "propose", "text": "ä" * 100}
    assert [theirs.receive(0.0), theirs.receive(0.0), theirs.receive(0.0)] == [{"kind": "one"}, {"kind": "two"}, None]
    mine.close()
    theirs.close()
    assert door.refused == []


@pytest.mark.parametrize("key", ["", "k" * 63, "k" * 65, "K" * 64, "schlüssel", None, 7, [KEY]])
def test_the_key_is_asked_for(door: Door, key: str) -> None:
    stranger = connect(door.path, key, {"kind": "hello"})
    assert door.accept() is None
    with pytest.raises(Closed):
        stranger.receive()
    stranger.close()
    assert door.refused == ["it does not know the run's key"]


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


OBJECT = "not an object with a kind"
GREETINGS = [
    (b"GET / HTTP/1.1", "not JSON"),
    (b'{"kind": "hello", "key": ', "not JSON"),
    (b"\xff\xfe\x00", "not JSON"),
    (b"[" * LIMIT, "not JSON"),
    (b'{"kind": "hello", "worker": ' + b"9" * 5000 + b"}", "not JSON"),
    (b"y" * (LIMIT + 1), "more than the limit"),
    (b"y" * 200_000, "more than the limit"),
    (b'["kind", "hello"]', OBJECT),
    (b'"hello"', OBJECT),
    (b'{"key": "%s"}' % KEY.encode(), OBJECT),
    (b'{"kind": 1, "key": "%s"}' % KEY.encode(), OBJECT),
    (b'{"kind": "hello"}', "does not know"),
    (b'{"kind": "hello", "key": ["%s"]}' % KEY.encode(), "does not know"),
    (b'{"kind": "hello", "key": "\\ud800"}', "does not know"),
    (b'{"kind": "hello", "key": %s}' % nested(900), "does not know"),
    (b"", "left without a greeting"),
]


@pytest.mark.parametrize(("greeting", "why"), GREETINGS, ids=[repr(greeting[:24]) for greeting, _ in GREETINGS])
def test_who_does_not_greet_properly_is_turned_away(door: Door, raw: Raw, greeting: bytes, why: str) -> None:
    stranger = raw()
    stranger.send(greeting)
    assert door.accept() is None
    assert not is_open(stranger)
    (told,) = door.refused
    assert why in told
    door.lets_in_a_friend()


def test_noise_of_any_kind_is_turned_away(door: Door, raw: Raw) -> None:
    chance = random.Random(7)
    proper = b'{"kind":"hello","worker":0,"key":"%s"}' % KEY.encode()
    for _ in range(300):
        noise = bytearray(proper)
        for _ in range(chance.randint(1, 4)):
            noise[chance.randrange(len(noise))] = chance.randrange(256)
        short, wild = bytes(noise[: chance.randrange(70)]), chance.randbytes(chance.randint(1, 300))
        stranger = raw()
        stranger.send(chance.choice([bytes(noise), short, wild]))
        accepted = door.accept()
        if accepted is not None:
            assert KEY.encode() in noise
            accepted[0].close()
    assert len(door.refused) > 250
    door.lets_in_a_friend()


def test_descriptors_that_come_with_a_greeting_are_not_taken(door: Door, raw: Raw) -> None:
    stranger = raw()
    before = len(os.listdir("/proc/self/fd"))
    held = array.array("i", [stranger.fileno()] * 100).tobytes()
    stranger.sendmsg([b'{"kind":"hello"}'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
    assert door.accept() is None
    assert len(os.listdir("/proc/self/fd")) == before


def test_who_knocks_and_runs_is_turned_away(door: Door, raw: Raw) -> None:
    raw().close()
    assert door.accept() is None
    assert door.refused == ["it left without a greeting"]


def test_who_says_nothing_holds_up_nobody_and_has_to_go_in_the_end(door: Door, raw: Raw) -> None:
    silent = [raw() for _ in range(MOST // 2)]
    assert door.accept() is None
    door.lets_in_a_friend()
    door.listener.turn_away_late(NOW + 1.0)
    assert all(is_open(one) for one in silent)
    door.listener.turn_away_late(LATE)
    assert not any(is_open(one) for one in silent)
    assert set(door.refused) == {"it has not greeted within 2 s"}
    door.lets_in_a_friend()


def test_a_caller_may_take_its_time(door: Door, raw: Raw) -> None:
    slow = raw()
    assert door.accept() is None
    slow.send(b'{"kind":"hello","key":"%s"}' % KEY.encode())
    door.listener.turn_away_late(NOW + 1.0)
    accepted = door.accept(NOW + 1.0)
    assert accepted is not None
    door.listener.turn_away_late(LATE)
    assert is_open(slow)
    accepted[0].close()


def test_of_a_flood_only_so_many_are_waited_for(door: Door, raw: Raw) -> None:
    """Who came first makes room; who greets at once gets in all the same."""
    flood = [raw() for _ in range(120)]
    for _ in range(3):
        assert door.accept() is None
    assert [is_open(one) for one in flood] == [False] * (120 - MOST) + [True] * MOST
    assert set(door.refused) == {"too many others wait to greet"}
    door.lets_in_a_friend()


def test_another_user_is_turned_away(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = connect(door.path, KEY, {"kind": "hello"})
    with monkeypatch.context() as patch:
        patch.setattr(Channel, "peer", Peer(os.getpid(), os.getuid() + 1))
        patch.setattr(door.listener, "_refused", lambda _, why: door.refused.append(why))
        assert door.accept() is None
    stranger.close()
    assert door.refused == ["it belongs to another user"]


def test_nobody_listens(path: Path) -> None:
    with pytest.raises(Closed, match=r"nobody listens at .*control\.sock"):
        connect(path, KEY, {"kind": "hello"})
    Door(path).listener.close()
    with pytest.raises(Closed):
        connect(path, KEY, {"kind": "hello"})
    assert not path.exists()


def test_a_listener_that_died_is_replaced(path: Path) -> None:
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    dead.bind(str(path))
    dead.close()
    door = Door(path)
    door.lets_in_a_friend()
    door.listener.close()


def test_what_another_listener_put_there_is_left_to_it(path: Path) -> None:
    first, second = Door(path), Door(path)
    first.listener.close()
    second.lets_in_a_friend()
    second.listener.close()


def test_only_the_owner_may_connect(door: Door) -> None:
    assert door.path.stat().st_mode & 0o777 == 0o600


def test_a_directory_may_lie_deep(tmp_path: Path) -> None:
    """A socket's address has 108 bytes, and home directories may be longer."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    door = Door(deep / "control.sock")
    door.lets_in_a_friend()
    door.listener.close()
    assert list(deep.iterdir()) == []
