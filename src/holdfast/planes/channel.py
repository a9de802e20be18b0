"""Control messages between the processes of a run on one host: JSON objects over a Unix socket.

One packet is one message, so nothing has to be framed, and nothing is ever unpickled. Nobody waits for somebody who
does not read.
"""

import contextlib
import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Message = dict[str, Any]
LIMIT = 60_000
_CREDENTIALS = struct.Struct("3i")
_CONNECT_S = struct.pack("ll", 1, 0)
"""How long to wait where others wait to be let in; a `timeval`."""


class Closed(Exception):
    """The other side is gone."""


class Deaf(Closed):
    """The other side has left so much unread that there is no room for more."""


class Malformed(Exception):
    """What came, or was to be sent, is not a message; the text says why. The sender is not to be trusted further."""


class Peer(NamedTuple):
    """The process that connected, by the word of the system."""

    pid: int
    uid: int


class Channel:
    """One connection; both sides may send and receive."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def peer(self) -> Peer:
        """Who is on the other side, if that side connected to this one."""
        raw = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(raw)
        return Peer(pid, uid)

    def send(self, message: Message) -> None:
        """At once or not at all; raises Deaf rather than wait."""
        data = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")
        if len(data) > LIMIT:
            raise Malformed(f"a message of {len(data)} bytes is over the limit of {LIMIT}")
        try:
            self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError as error:
            raise Deaf("the other side does not read") from error
        except OSError as error:
            raise Closed(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> Message | None:
        """The next message, or None when none came in time."""
        self._socket.settimeout(timeout_s)
        try:
            data = self._socket.recv(LIMIT + 1)
        except (TimeoutError, BlockingIOError):
            return None
        except OSError as error:
            raise Closed(str(error)) from error
        finally:
            if self._socket.fileno() >= 0:
                self._socket.settimeout(None)
        if not data:
            raise Closed("the other side closed the connection")
        return _parse(data)

    def is_open(self) -> bool:
        """Whether the other side is still there; takes nothing from the channel."""
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        self._socket.close()


def connect(path: Path, key: str, greeting: Message) -> Channel:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _CONNECT_S)
    try:
        with short(path) as address:
            connection.connect(address)
    except OSError as error:
        connection.close()
        raise Closed(f"nobody listens at {path}: {error.strerror}") from error
    channel = Channel(connection)
    try:
        channel.send({**greeting, "key": key})
    except (Closed, Malformed):
        channel.close()
        raise
    return channel


@contextlib.contextmanager
def short(path: Path) -> Iterator[str]:
    """A name for `path` that fits the 108 bytes of a socket address, however deep the directory lies."""
    directory = os.open(path.parent, os.O_PATH)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def _parse(data: bytes) -> Message:
    if len(data) > LIMIT:
        raise Malformed(f"it sent more than the limit of {LIMIT} bytes")
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Malformed("what it sent is not JSON") from error
    if not isinstance(message, dict) or not isinstance(message.get("kind"), str):
        raise Malformed("what it sent is not an object with a kind")
    return message
