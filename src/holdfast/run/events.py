"""What can happen to a crew, and what can be done about it: the words between the captain and who carries them out."""

from dataclasses import dataclass
from typing import Literal

from holdfast.run.view import View

# What happened:


@dataclass(frozen=True)
class Begin:
    """The run is to start."""


@dataclass(frozen=True)
class TakeOver:
    """This captain goes on where another one stopped; it has that one's standing."""

    newest_epoch: int = 0
    """The newest that workers can have seen announced, as read after this captain's term began."""


@dataclass(frozen=True)
class Built:
    """A worker has its model and data, and can join."""

    worker: int
    digest: str


@dataclass(frozen=True)
class Accepted:
    """A worker is at a safe point and agrees to the view of this epoch."""

    worker: int
    epoch: int


@dataclass(frozen=True)
class Running:
    """A worker has learned that the view of this epoch is committed, and goes to work under it."""

    worker: int
    epoch: int


@dataclass(frozen=True)
class Done:
    """A worker has come to the end under this epoch, or to an ordered stop."""

    worker: int
    epoch: int
    stopped: bool


@dataclass(frozen=True)
class Evaluated:
    """A worker has told what the model is worth after so many steps, and that is on record."""

    worker: int
    step: int


@dataclass(frozen=True)
class Greeted:
    """A worker has found its way to this captain, and all that it had told is heard."""

    worker: int


@dataclass(frozen=True)
class Failed:
    """A worker met an error that others would meet as well."""

    worker: int
    error: str


@dataclass(frozen=True)
class Place:
    """Where in the job a worker was: it computed this replica of this step."""

    step: int
    replica: int


@dataclass(frozen=True)
class Lost:
    """A worker's process has ended; `at` is what it was computing just then, if it was."""

    worker: int
    cause: str
    at: Place | None = None


@dataclass(frozen=True)
class Hung:
    """A worker shows no progress while the others wait."""

    worker: int
    cause: str


@dataclass(frozen=True)
class Leaves:
    """A worker was given notice, as by SIGTERM: it asks to be let go, and another is to take its place."""

    worker: int


@dataclass(frozen=True)
class Drain:
    """Somebody wants this worker to leave; the crew gets smaller."""

    worker: int


@dataclass(frozen=True)
class Scale:
    """Somebody wants a crew of this size."""

    workers: int


@dataclass(frozen=True)
class Pause:
    """Somebody wants all work to rest."""


@dataclass(frozen=True)
class Unpause:
    """Somebody wants it to go on."""


@dataclass(frozen=True)
class Measured:
    """How many replicas a second each member of the committed view computes, in its order."""

    speeds: tuple[float, ...]


@dataclass(frozen=True)
class Tick:
    """Time has passed."""


Word = Built | Accepted | Running | Done | Evaluated | Greeted | Failed
Fact = Begin | TakeOver | Lost | Hung | Measured | Tick
Wish = Leaves | Drain | Scale | Pause | Unpause
Event = Word | Fact | Wish

# What is to be done:


@dataclass(frozen=True)
class Spawn:
    worker: int


@dataclass(frozen=True)
class Propose:
    """Ask everybody who may be working to come to a safe point and agree, in the view or out of it."""

    view: View
    asked: tuple[int, ...]


@dataclass(frozen=True)
class Commit:
    view: View


@dataclass(frozen=True)
class Remind:
    """Tell those whose answer is missing once more what the view is, or, if it is, that it is committed."""

    view: View
    workers: tuple[int, ...]
    committed: bool


@dataclass(frozen=True)
class Confirm:
    """Let a worker know that what it told is heard, so that it need not tell it again."""

    worker: int
    what: str
    number: int = 0
    """The epoch or the step, of what can be told more than once."""


@dataclass(frozen=True)
class Release:
    """Let a worker go: it is at a safe point, and in no view any more."""

    worker: int


@dataclass(frozen=True)
class Kill:
    worker: int


@dataclass(frozen=True)
class Note:
    """Something for the time line."""

    kind: str
    text: str
    worker: int | None = None


@dataclass(frozen=True)
class End:
    """The run is over; `status` is finished, stopped or failed, the last with the reason."""

    status: Literal["finished", "stopped", "failed"]
    error: str | None = None


Action = Spawn | Propose | Commit | Remind | Confirm | Release | Kill | Note | End
