"""Control messages between the processes of a run on one host: JSON objects over a Unix socket.

The socket lies in the run's directory, which its owner alone may enter; whoever connects must also be that owner and
know the run's key. One packet is one message, so nothing has to be framed, and nothing is ever unpickled.
"""

import contextlib
import hmac
import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Message = dict[str, Any]
LIMIT = 60_000
_CREDENTIALS = struct.Struct("3i")


class Closed(Exception):
    """The other side is gone."""


class Malformed(Exception):
    """What came is not a message; the sender is not to be trusted further."""


class Channel:
    """One connection; both sides may send and receive."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Message) -> None:
        data = json.dumps(message, separators=(",", ":")).encode()
        if len(data) > LIMIT:
            raise Malformed(f"a message of {len(data)} bytes is over the limit of {LIMIT}")
        try:
            self._socket.send(data)
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


class Listener:
    """Where the processes of a run connect; `accept` lets in only its owner with its key."""

    def __init__(self, path: Path, key: str) -> None:
        self._key = key
        self._path = path
        self._inode = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path.unlink(missing_ok=True)
        with _short(path) as address:
            self._socket.bind(address)
        path.chmod(0o600)
        self._inode = path.stat().st_ino
        self._socket.listen(128)

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self) -> tuple[Channel, Message] | None:
        """A new connection and its greeting, or None when it was turned away."""
        connection, _ = self._socket.accept()
        channel = Channel(connection)
        try:
            greeting = channel.receive(timeout_s=2.0) if _same_user(connection) else None
        except (Closed, Malformed):
            greeting = None
        if greeting is None or not self._is_key(greeting.pop("key", "")):
            channel.close()
            return None
        return channel, greeting

    def close(self) -> None:
        """Another listener may have taken the path over; what is there then is not ours to remove."""
        self._socket.close()
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    def _is_key(self, offered: object) -> bool:
        # Bytes, since strings that are not ASCII cannot be compared in constant time.
        return hmac.compare_digest(str(offered).encode(errors="replace"), self._key.encode())


def connect(path: Path, key: str, greeting: Message) -> Channel:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with _short(path) as address:
            connection.connect(address)
    except OSError as error:
        connection.close()
        raise Closed(f"nobody listens at {path}: {error.strerror}") from error
    channel = Channel(connection)
    channel.send({**greeting, "key": key})
    return channel


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name for `path` that fits the 108 bytes of a socket address, however deep the directory lies."""
    directory = os.open(path.parent, os.O_PATH)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def _same_user(connection: socket.socket) -> bool:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(raw)[1] == os.getuid())


def _parse(data: bytes) -> Message:
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Malformed("not JSON") from error
    if len(data) > LIMIT or not isinstance(message, dict) or not isinstance(message.get("kind"), str):
        raise Malformed("not an object with a kind, or too long")
    return message
