"""A worker's line bears whatever comes from the captain's side: it hangs up, and finds its way back."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.job import Job
from holdfast.planes.arena import PAGE, create
from holdfast.planes.channel import Channel, Message
from holdfast.planes.listener import Listener
from holdfast.run.line import Line
from holdfast.run.place import RunPlace

WELCOME = {"kind": "welcome", "term": 1}
COMMIT = {"kind": "commit", "epoch": 65537}


class Impostor:
    """Sits where the captain should, and says one thing after the other: first something, then what is proper."""

    def __init__(self, place: RunPlace, said: list[list[Message]]) -> None:
        self.greetings: list[Message] = []
        self._listener = Listener(place.socket, place.key, lambda *_: None)
        self._said = said
        self._channels: list[Channel] = []
        self._thread = threading.Thread(target=self._talk)
        self._thread.start()

    def leave(self) -> None:
        self._thread.join()
        for channel in self._channels:
            channel.close()
        self._listener.close()

    def _talk(self) -> None:
        while len(self._channels) < len(self._said):
            for channel, greeting in self._listener.accept(0.0):
                self.greetings.append(greeting)
                for message in self._said[len(self._channels)]:
                    channel.send(message)
                self._channels.append(channel)


@pytest.fixture
def place(tmp_path: Path) -> RunPlace:
    place = RunPlace(tmp_path / "run")
    place.prepare(Job(model="cnn", data="digits", steps=1))
    return place


@pytest.fixture
def arena() -> Iterator[int]:
    descriptor = create("test")
    os.ftruncate(descriptor, PAGE)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "nonsense"},
        {"kind": "welcome"},
        {"kind": "welcome", "term": "1"},
        {"kind": "welcome", "term": 1, "more": 2},
        {"kind": "refused", "why": "a reason"},
        {"kind": "commit", "epoch": 65537},
    ],
)
def test_a_welcome_that_is_none_is_not_believed(place: RunPlace, arena: int, wrong: dict[str, Any]) -> None:
    impostor = Impostor(place, [[wrong], [WELCOME, COMMIT]])
    line = Line(place, arena, lambda: {"kind": "hello", "worker": 0, "told": []})
    assert line.receive() == COMMIT
    line._lose()
    impostor.leave()
    assert [greeting["worker"] for greeting in impostor.greetings] == [0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "nonsense"},
        {"kind": "commit"},
        {"kind": "commit", "epoch": 1.5},
        {"kind": "propose", "epoch": 65537, "members": [[0]], "cuts": []},
        {"kind": "propose", "epoch": 65537, "members": "0", "cuts": []},
        {"kind": "propose", "epoch": 65537, "members": [[0, 0]], "cuts": [None]},
        {"kind": "built", "digest": "d"},
    ],
)
def test_what_is_no_message_of_a_captain_ends_the_connection(
    place: RunPlace, arena: int, wrong: dict[str, Any]
) -> None:
    impostor = Impostor(place, [[WELCOME, wrong], [WELCOME, COMMIT]])
    line = Line(place, arena, lambda: {"kind": "hello", "worker": 0, "told": []})
    assert line.receive() == COMMIT
    line._lose()
    impostor.leave()


def test_a_captain_that_does_not_read_is_left(place: RunPlace, arena: int) -> None:
    """What could not be said is told to the next one."""
    told: list[Message] = []
    impostor = Impostor(place, [[WELCOME], [WELCOME, COMMIT]])
    line = Line(place, arena, lambda: {"kind": "hello", "worker": 0, "told": list(told)})
    line.look()
    while line._channel is not None:
        told[:] = [{"kind": "done", "epoch": 65537, "stopped": False}]
        line.send(told[0])
    assert line.receive() == COMMIT
    line._lose()
    impostor.leave()
    assert impostor.greetings[1]["told"] == told
