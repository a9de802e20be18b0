"""The captain's socket under attack: whatever comes is refused and noted, and the captain neither stops nor changes."""

import json
import os
import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_run_crew import NoEngine, NoProcess

from holdfast.job import Job
from holdfast.planes.arena import create
from holdfast.planes.channel import LIMIT, Channel, Closed, connect
from holdfast.run.captain import Captain, Terms
from holdfast.run.crew import Crew, Ears
from holdfast.run.messages import FROM_WORKER, GREETINGS
from holdfast.run.place import RunPlace

BAD: list[Any] = [None, True, -1, 1.5, 1 << 63, 10**400, "0", "\ud800", [], [1], {}, {"a": [[[[[1]]]]]}, [[["x"]]], 7]
PROPER: dict[str, Any] = {"worker": 0, "term": 0, "told": [], "digest": "d", "epoch": 1, "stopped": False, "step": 1}
PROPER |= {"error": "e", "trace": "t", "workers": 1, "sets": ["optimizer.lr"]}


class OurProcess(NoProcess):
    """A worker that is this process, so that what it says here is what the worker says."""

    pid = os.getpid()


class OurEngine(NoEngine):
    def start(self, *_: Any) -> NoProcess:
        return OurProcess()


class Siege:
    """A crew of one worker, which is to be built, and those before its door."""

    def __init__(self, root: Path) -> None:
        self.place = RunPlace(root)
        self.place.prepare(Job(model="cnn", data="digits", steps=1))
        self.arena = create("test")
        self.noted: list[str] = []
        self.measured: list[Any] = []
        self.captain = Captain(Terms(1, 1, 5, 3, 60.0))
        ears = Ears(
            lambda note, _: self.noted.append(note.text) if note.kind == "refused" else None,
            lambda: self.measured.append(self.place.root),
            lambda _: None,
        )
        self.crew = Crew(self.place, self.captain, OurEngine(), self.arena, ears)
        self.crew.begin(1, "")
        self.memory = os.fstat(self.arena).st_ino
        self.raw: list[socket.socket] = []

    def turn(self) -> None:
        """All that is ready is seen to."""
        for _ in range(4):
            self.crew.turn(0.0)

    def knock(self, data: bytes = b"") -> socket.socket:
        self.raw.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        self.raw[-1].connect(str(self.place.socket))
        if data:
            self.raw[-1].send(data)
        return self.raw[-1]

    def say(self, message: dict[str, Any]) -> None:
        """On a connection of its own, with the key."""
        self.knock(json.dumps({**message, "key": self.place.key}).encode())
        self.turn()
        self.raw.pop().close()

    def worker(self) -> Channel:
        """The true worker comes."""
        hello = {"kind": "hello", "worker": 0, "term": 0, "arena": self.memory, "told": []}
        channel = connect(self.place.socket, self.place.key, hello)
        self.turn()
        assert channel.receive(0.0) == {"kind": "welcome", "term": 0}
        return channel

    def end(self) -> None:
        for connection in self.raw:
            connection.close()
        self.crew.dismiss(at_once=True)
        os.close(self.arena)


@pytest.fixture
def siege(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Siege]:
    monkeypatch.setattr("holdfast.run.refusals._NAMED", 1_000_000)
    descriptors = len(os.listdir("/proc/self/fd"))
    siege = Siege(tmp_path / "run")
    yield siege
    siege.end()
    assert len(os.listdir("/proc/self/fd")) == descriptors


@pytest.fixture
def unmoved(siege: Siege) -> Callable[[int], None]:
    """Asserts that so many were refused, and that nothing else has happened."""
    before = siege.captain.standing()

    def check(refused: int) -> None:
        assert siege.captain.standing() == before
        assert siege.crew.ending is None
        assert siege.measured == []
        assert len(siege.noted) == refused

    return check


def spoilt(kind: str, fields: Any, proper: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message with each field missing, and with each bad value, and with a field too many."""
    whole = {"kind": kind, **{name: proper[name] for name in fields}}
    yield {**whole, "more": 1}
    for name, shape in fields.items():
        yield {key: value for key, value in whole.items() if key != name}
        yield from ({**whole, name: value} for value in BAD if not shape.fits(value))


@pytest.mark.parametrize("kind", GREETINGS)
def test_greetings_that_are_wrong_in_any_field(siege: Siege, unmoved: Callable[[int], None], kind: str) -> None:
    tried = list(spoilt(kind, GREETINGS[kind], {**PROPER, "arena": siege.memory}))
    for message in tried:
        siege.say(message)
    unmoved(len(tried))
    assert all(text.startswith(f"process {os.getpid()} of user {os.getuid()} was refused: ") for text in siege.noted)


@pytest.mark.parametrize("kind", [*FROM_WORKER, "welcome", "commit", "nonsense"])
def test_a_worker_that_says_what_is_wrong_in_any_field(siege: Siege, unmoved: Callable[[int], None], kind: str) -> None:
    """It is hung up, and may come back; it is not killed for it."""
    tried = list(spoilt(kind, FROM_WORKER.get(kind, {}), PROPER))
    for message in tried:
        channel = siege.worker()
        with socket.socket(fileno=os.dup(channel.fileno())) as raw:
            raw.send(json.dumps(message).encode())
        siege.turn()
        with pytest.raises(Closed):
            channel.receive(0.0)
        channel.close()
    unmoved(len(tried))
    siege.worker().close()


def test_a_worker_that_tells_it_when_it_comes_back(siege: Siege, unmoved: Callable[[int], None]) -> None:
    tried = [message for kind in FROM_WORKER for message in spoilt(kind, FROM_WORKER[kind], PROPER)]
    for message in tried:
        siege.say({"kind": "hello", "worker": 0, "term": 0, "arena": siege.memory, "told": [message]})
    unmoved(len(tried))


def test_a_layout_that_is_not_there_is_not_read(siege: Siege, unmoved: Callable[[int], None]) -> None:
    built = {"kind": "built", "digest": "d"}
    channel = siege.worker()
    channel.send(built)
    siege.turn()
    channel.close()
    siege.say({"kind": "hello", "worker": 0, "term": 0, "arena": siege.memory, "told": [built]})
    unmoved(2)
    siege.worker().close()


def test_nobody_is_the_worker_but_its_process(
    siege: Siege, unmoved: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who knows the key, the memory and the worker's number is still another process, and that cannot be lied about."""
    monkeypatch.setattr(OurProcess, "pid", os.getppid())
    hello = {"kind": "hello", "worker": 0, "term": 0, "arena": siege.memory, "told": []}
    wrong = [{"worker": 1}, {"arena": 1}, {"term": 1}]
    for change in wrong:
        siege.say({**hello, **change})
    stranger = connect(siege.place.socket, siege.place.key, hello)
    siege.turn()
    assert stranger.receive(0.0) == {"kind": "quit", "term": 0}
    stranger.close()
    unmoved(len(wrong) + 1)


def test_noise_on_a_workers_line(siege: Siege, unmoved: Callable[[int], None]) -> None:
    chance = random.Random(3)
    for _ in range(200):
        channel = siege.worker()
        with socket.socket(fileno=os.dup(channel.fileno())) as raw:
            raw.send(chance.randbytes(chance.choice([1, 10, 1000, LIMIT + 1, 150_000])))
        siege.turn()
        channel.close()
    unmoved(200)


def test_the_silent_hold_up_neither_captain_nor_workers(
    siege: Siege, unmoved: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        for _ in range(60):
            siege.knock()
        siege.turn()
    worker = siege.worker()  # one more makes room for it
    unmoved(300 - 64 + 1)
    monkeypatch.setattr("holdfast.planes.listener._GREETING_S", 0.0)
    siege.turn()
    unmoved(300)
    worker.close()


def test_who_never_reads_is_hung_up_and_may_come_back(siege: Siege, unmoved: Callable[[int], None]) -> None:
    worker, hand = siege.worker(), siege.crew._hands[0]
    for epoch in range(100_000):
        siege.crew._send(hand, {"kind": "commit", "epoch": epoch})
        if hand.channel is None:
            break
    assert epoch > 100
    assert hand.channel is None
    siege.worker().close()
    worker.close()
    unmoved(0)


def test_who_asks_and_does_not_stay_for_the_answer(siege: Siege, unmoved: Callable[[int], None]) -> None:
    for _ in range(50):
        connect(siege.place.socket, siege.place.key, {"kind": "scale", "workers": 99}).close()
        siege.turn()
    unmoved(0)


def test_both_ends_of_a_worker_in_one_moment(siege: Siege) -> None:
    """It speaks and dies before the captain looks; whichever is seen first, the other does no harm."""
    channel = siege.worker()
    channel.send({"kind": "nonsense"})
    siege.crew._hands[0].process.kill()
    siege.turn()
    assert siege.captain.deaths == 1
    channel.close()


def test_a_flood_fills_no_ledger(siege: Siege, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.run.refusals._NAMED", 5)
    for _ in range(300):
        siege.say({"kind": "nonsense"})
    assert len(siege.noted) == 5
    siege.crew.dismiss(at_once=True)
    assert siege.noted[5:] == [f"295 more were refused; the last: {siege.noted[0]}"]
    siege.crew._hands.clear()
