"""Where the processes of a run connect. Only its owner with its key is let in, and nobody is waited for.

The socket lies in the run's directory, which its owner alone may enter. Whoever has connected and has not greeted yet
is a caller. A caller has a while to greet, and there are never more than a few: those who came first make room.
"""

import contextlib
import hmac
import os
import select
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.planes.channel import Channel, Closed, Malformed, Message, Peer, short

_GREETING_S = 2.0
_CALLERS = 64


@dataclass(frozen=True, slots=True)
class _Caller:
    channel: Channel
    came_at: float


class Listener:
    """Owned by one thread. `fileno` is readable when `accept` has something to do.

    `refused` is told of everybody who is turned away, and why.
    """

    def __init__(self, path: Path, key: str, refused: Callable[[Peer, str], None]) -> None:
        self._key = key
        self._path = path
        self._refused = refused
        self._callers: dict[int, _Caller] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        path.unlink(missing_ok=True)
        with short(path) as address:
            self._socket.bind(address)
        path.chmod(0o600)
        self._inode = path.stat().st_ino
        self._socket.listen(128)
        self._poll = select.epoll()
        self._poll.register(self._socket, select.EPOLLIN)

    def fileno(self) -> int:
        return self._poll.fileno()

    def accept(self, now: float) -> list[tuple[Channel, Message]]:
        """Those who have greeted properly since the last time, with what they said; the work is bounded."""
        self._let_call(now)
        ready = [fd for fd, _ in self._poll.poll(0) if fd in self._callers]
        heard = [(fd, self._callers[fd].channel, self._hear(fd)) for fd in ready]
        greeted = [(fd, channel, greeting) for fd, channel, greeting in heard if greeting is not None]
        for fd, _, _ in greeted:
            self._forget(fd)
        return [(channel, greeting) for _, channel, greeting in greeted]

    def turn_away_late(self, now: float) -> None:
        """Called now and then: whoever has not greeted in time has to go."""
        for fd, caller in list(self._callers.items()):
            if now - caller.came_at > _GREETING_S:
                self._turn_away(fd, f"it has not greeted within {_GREETING_S:g} s")

    def close(self) -> None:
        """Another listener may have taken the path over; what is there then is not ours to remove."""
        for caller in self._callers.values():
            caller.channel.close()
        self._poll.close()
        self._socket.close()
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    def _let_call(self, now: float) -> None:
        for _ in range(_CALLERS):
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # nobody is there, or no descriptor is left: then they wait until there is one
            channel = Channel(connection)
            if len(self._callers) == _CALLERS:
                self._turn_away(next(iter(self._callers)), "too many others wait to greet")
            self._callers[channel.fileno()] = _Caller(channel, now)
            self._poll.register(channel, select.EPOLLIN)
            if channel.peer.uid != os.getuid():
                self._turn_away(channel.fileno(), "it belongs to another user")

    def _hear(self, fd: int) -> Message | None:
        try:
            greeting = self._callers[fd].channel.receive(0.0)
        except Closed:
            self._turn_away(fd, "it left without a greeting")
            return None
        except Malformed as error:
            self._turn_away(fd, str(error))
            return None
        if greeting is not None and not self._is_key(greeting.pop("key", "")):
            self._turn_away(fd, "it does not know the run's key")
            return None
        return greeting

    def _turn_away(self, fd: int, why: str) -> None:
        channel = self._forget(fd)
        self._refused(channel.peer, why)
        channel.close()

    def _forget(self, fd: int) -> Channel:
        self._poll.unregister(fd)
        return self._callers.pop(fd).channel

    def _is_key(self, offered: object) -> bool:
        # Bytes, since strings that are not ASCII cannot be compared in constant time.
        return isinstance(offered, str) and hmac.compare_digest(offered.encode(errors="replace"), self._key.encode())
