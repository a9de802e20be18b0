"""A worker's line to whoever is captain. Captains come and go; the line reaches the next one, or brings one about."""

import os
import subprocess
import time

from holdfast.engines.local import start_apart
from holdfast.faults import reached
from holdfast.planes.arena import PAGE, Arena
from holdfast.planes.channel import Channel, Closed, Malformed, Message, connect
from holdfast.planes.words import words_of
from holdfast.run.messages import FROM_CAPTAIN, checked
from holdfast.run.place import RunPlace
from holdfast.step.places import HEADER_WORDS, Header

_LOOK_S = 0.25
_ANSWER_S = 1.0
_ORPHANED_S = 60.0
_PER_RANK_S = 0.6
_LAST_RANK = 5
"""How long a worker waits for those before it to bring about a captain, so that they do not all do it at once."""
_AGAIN_S = 5.0
_SILENT_S = 12.0
"""A captain that was stopped for longer has lost its lease."""


class Line:
    """Owned by one thread."""

    def __init__(self, place: RunPlace, descriptor: int) -> None:
        self._place = place
        self._descriptor = descriptor
        self._header = words_of(Arena(descriptor, PAGE).bytes_at(0, 8 * HEADER_WORDS))
        self._channel: Channel | None = None
        self._alone_since = self._greeted_at = time.monotonic()
        self._successor: subprocess.Popen[bytes] | None = None
        self._brought_at = -_AGAIN_S
        self._beats = 0
        self._beaten_at = self._looked_at = time.monotonic()
        self.rank: int | None = None
        """Its place in the view, once it has had one."""

    @property
    def newest_term(self) -> int:
        """The term of the captain in office, as far as shared memory tells."""
        return int(self._header[Header.TERM])

    @property
    def is_open(self) -> bool:
        if self._channel is not None and not self._channel.is_open():
            self._close()
        return self._channel is not None

    def greet(self, greeting: Message) -> None:
        """Connect anew, with this as the first message; nothing is gained when nobody listens."""
        self._close()
        self._greeted_at = time.monotonic()
        own = {"arena": os.fstat(self._descriptor).st_ino}
        try:
            self._channel = connect(self._place.socket, self._place.key, {**greeting, **own})
        except (Closed, OSError):
            return

    def send(self, message: Message) -> None:
        """To the captain, if there is a line to one."""
        if self._channel is not None:
            try:
                self._channel.send(message)
            except Closed:
                self._close()

    def receive(self, may_wait: bool) -> Message | None:
        """The next message, if there is one; `may_wait` for a moment, in which nothing else is to be done."""
        if self._channel is None:
            if may_wait:
                time.sleep(_LOOK_S)
            return None
        try:
            message = self._channel.receive(timeout_s=_LOOK_S if may_wait else 0.0)
            return message and checked(message, FROM_CAPTAIN)
        except (Closed, Malformed):
            self._close()
            return None

    def look_after(self, is_known: bool) -> None:
        """Called often. Who is not known to any captain that lives waits for its turn, and brings one about."""
        now = time.monotonic()
        beats = int(self._header[Header.BEATS])
        if beats != self._beats or now - self._looked_at > _ANSWER_S:
            self._beats, self._beaten_at = beats, now  # who did not look could not see it
        self._looked_at = now
        if is_known and now - self._beaten_at < _SILENT_S:
            # What was brought about has come, so that is no reason to wait when it dies, too.
            self._alone_since, self._brought_at = now, now - _AGAIN_S
        elif is_known or self._channel is None or now - self._greeted_at > _ANSWER_S:
            self._bring_about(now)

    def require_captain(self) -> None:
        """Closed when there has been none for very long."""
        if time.monotonic() - self._alone_since > _ORPHANED_S:
            raise Closed(f"there has been no captain for {_ORPHANED_S:g} s")

    def _bring_about(self, now: float) -> None:
        """Start a process that will try to be captain. The lease lets one of them."""
        patience_s = _PER_RANK_S * (_LAST_RANK if self.rank is None else min(self.rank, _LAST_RANK))
        if now - self._alone_since < patience_s or now - self._brought_at < _AGAIN_S:
            return
        if self._successor is not None:
            self._successor.poll()  # so that it does not stay as a zombie
        self._brought_at = now
        arguments = ["holdfast.run.detached", self._place.root.name, str(self._place.home), str(self._descriptor)]
        self._successor = start_apart(arguments, self._place.log_of_captain, [self._descriptor])
        reached("captain.called")

    def _close(self) -> None:
        if self._channel is not None:
            self._channel.close()
        self._channel = None
        reached("captain.missed")
