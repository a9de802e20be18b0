"""Control messages: what is not one is turned away, and nobody waits for somebody who has gone."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.planes.channel import LIMIT, Channel, Closed, Deaf, Malformed, connect


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    """A channel, and the bare socket at its other end."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one, other:
        yield Channel(one), other


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


def test_a_packet_without_content_is_a_farewell(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair
    other.send(b"")
    with pytest.raises(Closed):
        channel.receive(0.0)


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


def test_nobody_waits_for_a_peer_that_does_not_read(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair

    def send_on() -> None:
        for number in range(100_000):
            channel.send({"kind": "x", "number": number})

    with pytest.raises(Deaf):
        send_on()
    assert other.recv(LIMIT) == b'{"kind":"x","number":0}'
    with contextlib.suppress(BlockingIOError):
        while other.recv(LIMIT, socket.MSG_DONTWAIT):
            pass
    channel.send({"kind": "x"})


def test_nobody_waits_at_a_door_that_is_not_opened(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asleep:
        asleep.bind(str(tmp_path / "control.sock"))
        asleep.listen(0)
        before = connect(tmp_path / "control.sock", "key", {"kind": "hello"})
        with pytest.raises(Closed, match="nobody listens"):
            connect(tmp_path / "control.sock", "key", {"kind": "hello"})
        before.close()


def test_what_is_no_character_is_replaced(pair: tuple[Channel, socket.socket]) -> None:
    """Names of files may be anything, and stand in errors."""
    channel, other = pair
    channel.send({"kind": "failed", "error": os.fsdecode(b"caf\xe9 \xc3\xa9")})
    received = Channel(other.dup())
    assert received.receive(0.0) == {"kind": "failed", "error": "caf? é"}
    received.close()


def test_the_system_says_who_connected(pair: tuple[Channel, socket.socket]) -> None:
    assert pair[0].peer == (os.getpid(), os.getuid())
