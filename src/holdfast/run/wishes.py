"""What people want of a run that is being executed: a message at its socket, and the answer to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.errors import HoldfastError
from holdfast.planes.channel import Message
from holdfast.run import events as e
from holdfast.run.captain import Captain


@dataclass(frozen=True)
class Means:
    """How a wish comes true."""

    decide: Callable[[e.Event], None]
    stop: Callable[[], None]
    change: Callable[[Sequence[str]], int]


def wish(message: Message, captain: Captain, means: Means) -> Message:
    """See to a message of `FROM_PEOPLE`; the answer is `ok`, or `refused` with a sentence."""
    refusal = _refusal(message, captain)
    if refusal:
        return {"kind": "refused", "why": refusal}
    answer: Message = {"kind": "ok", "paused": captain.paused, "change": 0}
    match message["kind"]:
        case "stop":
            means.stop()
        case "scale":
            means.decide(e.Scale(message["workers"]))
        case "drain":
            means.decide(e.Drain(message["worker"]))
        case "pause":
            means.decide(e.Pause())
        case "unpause":
            means.decide(e.Unpause())
        case "set":
            try:
                answer["change"] = means.change(message["sets"])
            except HoldfastError as error:
                return {"kind": "refused", "why": str(error)}
    return answer


def _refusal(message: Message, captain: Captain) -> str:
    most = captain.terms.seats - 2
    match message:
        case {"kind": "scale", "workers": workers} if not 1 <= workers <= most:
            return f"{workers} is not a number of workers between 1 and {most}, the job's replicas"
        case {"kind": "set", "sets": []}:
            return "nothing is to be changed; give an assignment, as in optimizer.lr=0.001"
        case {"kind": "drain", "worker": worker}:
            return _why_not_drained(worker, captain)
    return ""


def _why_not_drained(worker: int, captain: Captain) -> str:
    staying = [number for number, member in captain.members.items() if not member.leaving]
    if worker not in staying:
        return f"there is no worker {worker}; there are {', '.join(map(str, staying))}"
    if len(staying) == 1:
        return f"worker {worker} is the only one; pause or stop the run instead"
    return ""
