"""Control messages: what is not one is turned away, and nobody waits for somebody who has gone."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.planes.channel import LIMIT, Channel, Closed, Listener, Malformed, connect

KEY = "k" * 64
Raw = Callable[[], socket.socket]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


@pytest.fixture
def listener(path: Path) -> Iterator[Listener]:
    listener = Listener(path, KEY)
    yield listener
    listener.close()


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    """A channel, and the bare socket at its other end."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one, other:
        yield Channel(one), other


@pytest.fixture
def raw(path: Path) -> Iterator[Raw]:
    opened: list[socket.socket] = []

    def knock() -> socket.socket:
        opened.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        opened[-1].connect(str(path))
        return opened[-1]

    yield knock
    for connection in opened:
        connection.close()


def test_both_sides_speak(listener: Listener, path: Path) -> None:
    mine = connect(path, KEY, {"kind": "hello", "worker": 3})
    accepted = listener.accept()
    assert accepted is not None
    theirs, greeting = accepted
    assert greeting == {"kind": "hello", "worker": 3}
    theirs.send({"kind": "propose", "text": "ä" * 100})
    mine.send({"kind": "one"})
    mine.send({"kind": "two"})
    assert mine.receive() == {"kind": "propose", "text": "ä" * 100}
    assert [theirs.receive(0.0), theirs.receive(0.0), theirs.receive(0.0)] == [{"kind": "one"}, {"kind": "two"}, None]
    mine.close()
    theirs.close()


def test_the_key_is_asked_for(listener: Listener, path: Path) -> None:
    for key in ("", "k" * 63, "K" * 64, "schlüssel"):
        stranger = connect(path, key, {"kind": "hello"})
        assert listener.accept() is None
        with pytest.raises(Closed):
            stranger.receive()
        stranger.close()


@pytest.mark.parametrize(
    "greeting",
    [
        b"GET / HTTP/1.1",
        b'{"kind": "hello", "key": ',
        b'["kind", "hello"]',
        b'"hello"',
        b"\xff\xfe\x00",
        b'{"key": "%s"}' % KEY.encode(),
        b'{"kind": 1, "key": "%s"}' % KEY.encode(),
        b'{"kind": "hello", "key": ["%s"]}' % KEY.encode(),
        b'{"kind": "hello", "key": "\\ud800"}',
        b"[" * LIMIT,
    ],
    ids=lambda greeting: greeting[:24].decode(errors="replace"),
)
def test_who_does_not_greet_properly_is_turned_away(listener: Listener, path: Path, raw: Raw, greeting: bytes) -> None:
    stranger = raw()
    stranger.send(greeting)
    assert listener.accept() is None
    assert stranger.recv(1) == b""
    friend = connect(path, KEY, {"kind": "hello"})
    accepted = listener.accept()
    assert accepted is not None
    accepted[0].close()
    friend.close()


def test_who_knocks_and_runs_is_turned_away(listener: Listener, raw: Raw) -> None:
    raw().close()
    assert listener.accept() is None


def test_another_user_is_turned_away(listener: Listener, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.planes.channel.os.getuid", lambda: 12345)
    stranger = connect(path, KEY, {"kind": "hello"})
    assert listener.accept() is None
    stranger.close()


@pytest.mark.parametrize(
    "data",
    [b"not json", b"[]", b"7", b"{}", b'{"kind": null}', b"[" * 50_000, b'{"kind":"' + b"x" * LIMIT + b'"}'],
    ids=lambda data: data[:12].decode(),
)
def test_what_is_not_a_message_is_malformed(pair: tuple[Channel, socket.socket], data: bytes) -> None:
    channel, other = pair
    other.send(data)
    with pytest.raises(Malformed):
        channel.receive()


def test_a_message_has_a_largest_size(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair
    frame = len(b'{"kind":"x","text":""}')
    channel.send({"kind": "x", "text": "y" * (LIMIT - frame)})
    assert len(other.recv(2 * LIMIT)) == LIMIT
    with pytest.raises(Malformed, match="60001 bytes"):
        channel.send({"kind": "x", "text": "y" * (LIMIT - frame + 1)})
    assert other.send(b'{"kind":"' + b"x" * (LIMIT - 11) + b'"}') == LIMIT
    assert channel.receive() is not None


def test_a_closed_peer_is_noticed(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair
    assert channel.is_open()
    other.send(b'{"kind":"last"}')
    other.close()
    assert channel.receive(0.0) == {"kind": "last"}
    assert not channel.is_open()
    with pytest.raises(Closed):
        channel.receive()
    with pytest.raises(Closed):
        channel.send({"kind": "x"})


def test_looking_takes_nothing(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair
    other.send(b'{"kind":"x"}')
    assert channel.is_open()
    assert channel.receive(0.0) == {"kind": "x"}


def test_nobody_listens(path: Path) -> None:
    with pytest.raises(Closed, match=r"nobody listens at .*control\.sock"):
        connect(path, KEY, {"kind": "hello"})
    Listener(path, KEY).close()
    with pytest.raises(Closed):
        connect(path, KEY, {"kind": "hello"})
    assert not path.exists()


def test_a_listener_that_died_is_replaced(path: Path) -> None:
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    dead.bind(str(path))
    dead.close()
    listener = Listener(path, KEY)
    friend = connect(path, KEY, {"kind": "hello"})
    accepted = listener.accept()
    assert accepted is not None
    accepted[0].close()
    friend.close()
    listener.close()


def test_only_the_owner_may_connect(listener: Listener, path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_directory_may_lie_deep(tmp_path: Path) -> None:
    """A socket's address has 108 bytes, and home directories may be longer."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    listener = Listener(deep / "control.sock", KEY)
    friend = connect(deep / "control.sock", KEY, {"kind": "hello"})
    accepted = listener.accept()
    assert accepted is not None
    assert accepted[1] == {"kind": "hello"}
    accepted[0].close()
    friend.close()
    listener.close()
    assert list(deep.iterdir()) == []
