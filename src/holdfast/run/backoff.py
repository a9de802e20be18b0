"""When something that was not answered is told again: soon, then less and less often."""

from dataclasses import dataclass

_FIRST_S, _LONGEST_S = 1.0, 16.0


@dataclass
class BackOff:
    due_at: float = 0.0
    _pause_s: float = _FIRST_S

    def begin(self, at: float) -> None:
        """It is to be told at this moment for the first time."""
        self.due_at, self._pause_s = at, _FIRST_S

    def hasten(self, at: float) -> None:
        """There is a reason not to wait for longer than this."""
        self.due_at = min(self.due_at, at)

    def is_due(self, now: float) -> bool:
        """Whether it is to be told now. If so, that is taken as done."""
        if now < self.due_at:
            return False
        self.due_at = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_S)
        return True

    def tell(self, now: float) -> None:
        """It is told now for the first time."""
        self.begin(now)
        self.is_due(now)
