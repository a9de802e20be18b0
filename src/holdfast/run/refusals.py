"""Who was refused, for the time line: each is named at first, and many in a row are only counted."""

import math

_SPAN_S = 60.0
_NAMED = 5


class Refusals:
    """A flood of them becomes a few lines a minute. Without a clock: every call says what time it is."""

    def __init__(self) -> None:
        self._began = -math.inf
        self._named = 0
        self._unnamed = 0
        self._last = ""

    def add(self, text: str, now: float) -> list[str]:
        """One more; what is to be told now."""
        told = self.due(now)
        if now - self._began >= _SPAN_S:
            self._began, self._named = now, 0
        if self._named == _NAMED:
            self._unnamed += 1
            self._last = text
            return told
        self._named += 1
        return [*told, text]

    def due(self, now: float) -> list[str]:
        """What is to be told because its time is over."""
        if not self._unnamed or now - self._began < _SPAN_S:
            return []
        told = f"{self._unnamed} more were refused; the last: {self._last}"
        self._unnamed = 0
        return [told]
