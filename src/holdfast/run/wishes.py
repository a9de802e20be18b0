"""What people want of a run that is being executed: a message at its socket, and the answer to it."""

from collections.abc import Callable

from holdfast.planes.channel import Message
from holdfast.run import events as e
from holdfast.run.captain import Captain

Decide = Callable[[e.Event], None]


def wish(message: Message, captain: Captain, decide: Decide, stop: Callable[[], None]) -> Message:
    """See to a message of `FROM_PEOPLE`; the answer is `ok`, or `refused` with a sentence."""
    refusal = _refusal(message, captain)
    if refusal:
        return {"kind": "refused", "why": refusal}
    match message["kind"]:
        case "stop":
            stop()
        case "scale":
            decide(e.Scale(message["workers"]))
        case "drain":
            decide(e.Drain(message["worker"]))
        case "pause":
            decide(e.Pause())
        case "unpause":
            decide(e.Unpause())
    return {"kind": "ok", "paused": captain.paused}


def _refusal(message: Message, captain: Captain) -> str:
    most = captain.terms.seats - 2
    match message:
        case {"kind": "scale", "workers": workers} if not 1 <= workers <= most:
            return f"{workers} is not a number of workers between 1 and {most}, the job's replicas"
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
