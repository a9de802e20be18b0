"""A worker's line to whoever is captain. Captains come and go; the line finds the next one, or brings one about.

What was said to a captain that is gone is lost, so a worker's greeting tells all that a captain must know of it.
"""

import os
import subprocess
import time
from collections.abc import Callable

from holdfast.engines.local import start_apart
from holdfast.faults import reached
from holdfast.planes.arena import PAGE, Arena
from holdfast.planes.channel import Channel, Closed, Malformed, Message, connect
from holdfast.planes.words import words_of
from holdfast.run.messages import FROM_CAPTAIN, WELCOMES, checked
from holdfast.run.place import RunPlace
from holdfast.step.places import HEADER_WORDS, Header

_ANSWER_S = 1.0
_LOOK_S = 0.25
_ORPHANED_S = 60.0
_PER_RANK_S = 0.6
_LAST_RANK = 5
"""How long a worker waits for those before it to bring about a captain, so that they do not all do it at once."""
_AGAIN_S = 5.0


class Line:
    """Owned by one thread. `greeting` is asked anew for each captain."""

    def __init__(self, place: RunPlace, descriptor: int, greeting: Callable[[], Message]) -> None:
        self._place = place
        self._descriptor = descriptor
        self._greeting = greeting
        self._header = words_of(Arena(descriptor, PAGE).bytes_at(0, 8 * HEADER_WORDS))
        self._channel: Channel | None = None
        self._term = 0
        self._alone_since = time.monotonic()
        self._successor: subprocess.Popen[bytes] | None = None
        self._brought_at = -_AGAIN_S
        self.rank: int | None = None
        """Its place in the view, once it has had one."""

    def send(self, message: Message) -> None:
        """To the captain, if there is one; the next one will learn of it by the greeting."""
        if self._channel is not None:
            try:
                self._channel.send(message)
            except Closed:
                self._lose()

    def receive(self) -> Message:
        """The next message of the captain of the highest term; raises Closed when there has been none for long."""
        while True:
            self.look()
            if self._channel is None:
                if time.monotonic() - self._alone_since > _ORPHANED_S:
                    raise Closed(f"there has been no captain for {_ORPHANED_S:g} s")
                time.sleep(_LOOK_S)
                continue
            try:
                message = self._channel.receive(timeout_s=_LOOK_S)
                if message is not None:
                    return checked(message, FROM_CAPTAIN)
            except (Closed, Malformed):
                self._lose()

    def look(self) -> None:
        """Make sure of the captain; called now and then, so that a worker that steps finds the next one, too."""
        if self._channel is not None and self._channel.is_open() and self._header[Header.TERM] <= self._term:
            return
        if self._channel is not None:
            self._lose()
        self._seek()
        if self._channel is None:
            self._bring_about()

    def _seek(self) -> None:
        try:
            own = {"term": self._term, "arena": os.fstat(self._descriptor).st_ino}
            channel = connect(self._place.socket, self._place.key, {**self._greeting(), **own})
        except (Closed, OSError):
            return
        try:
            welcome = channel.receive(timeout_s=_ANSWER_S)
            welcome = welcome and checked(welcome, WELCOMES)
        except (Closed, Malformed):
            welcome = None
        if welcome is not None and welcome["kind"] == "quit":
            raise Closed("the captain does not know this worker")
        if welcome is None or welcome["kind"] != "welcome" or welcome["term"] < self._header[Header.TERM]:
            channel.close()
            return
        self._channel, self._term = channel, welcome["term"]
        reached("captain.found")

    def _bring_about(self) -> None:
        """Start a process that will try to be captain. The lease lets one of them."""
        now = time.monotonic()
        patience_s = _PER_RANK_S * (_LAST_RANK if self.rank is None else min(self.rank, _LAST_RANK))
        if now - self._alone_since < patience_s or now - self._brought_at < _AGAIN_S:
            return
        if self._successor is not None:
            self._successor.poll()  # so that it does not stay as a zombie
        self._brought_at = now
        arguments = ["holdfast.run.detached", self._place.root.name, str(self._place.home), str(self._descriptor)]
        self._successor = start_apart(arguments, self._place.log_of_captain, [self._descriptor])
        reached("captain.called")

    def _lose(self) -> None:
        if self._channel is not None:
            self._channel.close()
        self._channel = None
        self._alone_since = time.monotonic()
        reached("captain.missed")
