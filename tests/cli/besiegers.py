"""Those who come to a captain's door to be rude."""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.run.place import RunPlace

_AT_ONCE = 80


class Besieger:
    """Comes again and again, and does something rude each time, until it is to leave."""

    def __init__(self, place: RunPlace, rude: Callable[[socket.socket, str], object]) -> None:
        self._place = place
        self._rude = rude
        self._leaves = threading.Event()
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._besiege)
        self._thread.start()

    def leave(self) -> None:
        self._leaves.set()
        self._thread.join()
        for connection in self._open:
            connection.close()

    def _besiege(self) -> None:
        key = self._place.key
        while not self._leaves.wait(0.002):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._open.append(connection)
            if len(self._open) > _AT_ONCE:
                self._open.pop(0).close()
            connection.settimeout(1.0)
            with contextlib.suppress(OSError):  # the captain has hung up, or is gone
                connection.connect(str(self._place.socket))
                self._rude(connection, key)


def said(connection: socket.socket, **message: object) -> None:
    connection.send(json.dumps(message).encode())


RUDE: list[Callable[[socket.socket, str], object]] = [
    lambda connection, key: None,
    lambda connection, key: connection.send(os.urandom(1000)),
    lambda connection, key: said(connection, kind="stop", key="guessed"),
    lambda connection, key: said(connection, kind="stop", more=1, key=key),
    lambda connection, key: said(connection, kind="hello", worker=0, term=0, arena=0, told=[], key=key),
    lambda connection, key: said(connection, kind="hello", worker="0", told=None, key=key),
]


@contextmanager
def siege(place: RunPlace) -> Iterator[None]:
    besiegers = [Besieger(place, rude) for rude in RUDE]
    try:
        yield
    finally:
        for besieger in besiegers:
            besieger.leave()
