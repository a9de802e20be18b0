"""A worker's line bears whatever comes from the captain's side: it hangs up, and finds its way back."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.job import Job
from holdfast.planes.arena import PAGE, Arena, create
from holdfast.planes.channel import Channel, Message
from holdfast.planes.listener import Listener
from holdfast.planes.words import words_of
from holdfast.run.line import Line
from holdfast.run.place import RunPlace
from holdfast.step.places import HEADER_WORDS, Header

WELCOME = {"kind": "welcome", "term": 1}
COMMIT = {"kind": "commit", "term": 1, "epoch": 65537}
HELLO: Message = {"kind": "hello", "worker": 0, "term": 0, "told": []}


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


@pytest.fixture
def line(place: RunPlace, arena: int) -> Iterator[Line]:
    line = Line(place, arena)
    yield line
    line._close()


def heard(line: Line) -> Message | None:
    """What comes next; None when the line is closed."""
    message = None
    while message is None and line.is_open:
        message = line.receive(may_wait=True)
    return message


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "nonsense"},
        {"kind": "welcome"},
        {"kind": "welcome", "term": "1"},
        {"kind": "welcome", "term": 1, "more": 2},
        {"kind": "refused", "why": "a reason"},
        {"kind": "commit", "epoch": 65537},
        {"kind": "commit", "term": 1, "epoch": 1.5},
        {"kind": "propose", "term": 1, "epoch": 65537, "members": [[0]], "cuts": []},
        {"kind": "propose", "term": 1, "epoch": 65537, "members": "0", "cuts": []},
        {"kind": "propose", "term": 1, "epoch": 65537, "members": [[0, 0]], "cuts": [None]},
        {"kind": "built", "digest": "d"},
    ],
)
def test_what_is_no_message_of_a_captain_ends_the_connection(
    place: RunPlace, line: Line, wrong: dict[str, Any]
) -> None:
    impostor = Impostor(place, [[WELCOME, wrong], [WELCOME, COMMIT]])
    line.greet(HELLO)
    assert heard(line) == WELCOME
    assert heard(line) is None
    line.greet(HELLO)
    assert [heard(line), heard(line)] == [WELCOME, COMMIT]
    impostor.leave()
    assert [greeting["worker"] for greeting in impostor.greetings] == [0, 0]


def test_a_captain_that_does_not_read_is_left(place: RunPlace, line: Line) -> None:
    impostor = Impostor(place, [[WELCOME], [WELCOME]])
    line.greet(HELLO)
    assert heard(line) == WELCOME
    while line.is_open:
        line.send({"kind": "done", "epoch": 65537, "stopped": False})
    line.greet(HELLO)
    assert heard(line) == WELCOME
    impostor.leave()


def test_a_captain_that_is_silent_for_too_long_is_followed(
    place: RunPlace, arena: int, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process is there and its socket is open, so nothing else tells that it was stopped."""
    called: list[list[str]] = []
    monkeypatch.setattr("holdfast.run.line.start_apart", lambda words, *_: called.append(words))
    now = time.monotonic()
    monkeypatch.setattr("holdfast.run.line.time.monotonic", lambda: now)
    header = words_of(Arena(arena, PAGE).bytes_at(0, 8 * HEADER_WORDS))
    for look in range(100):
        header[Header.BEATS] += look % 50 == 0
        line.look_after(is_known=True)
        now += 0.2
    now += 30.0  # the worker computes, and does not look
    line.look_after(is_known=True)
    assert called == []
    for _ in range(80):
        now += 0.2
        line.look_after(is_known=True)
    assert len(called) == 1
