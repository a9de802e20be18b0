"""The captain's side of the messages: what a worker says, as an event; what the captain decides, as messages."""

from collections.abc import Iterable, Iterator

from holdfast.planes.channel import Message
from holdfast.run import events as e
from holdfast.run.view import View


def event_of(worker: int, message: Message) -> e.Event | None:
    """None for a kind that no worker says. KeyError when something is missing."""
    match message["kind"]:
        case "built":
            return e.Built(worker, message["digest"])
        case "accepted":
            return e.Accepted(worker, message["epoch"])
        case "running":
            return e.Running(worker, message["epoch"])
        case "done":
            return e.Done(worker, message["epoch"], message["stopped"])
        case "evaluated":
            return e.Evaluated(worker, message["step"])
        case "leaves":
            return e.Leaves(worker)
        case "failed":
            return e.Failed(worker, message["error"])
    return None


def letters_of(action: e.Action, term: int) -> Iterator[tuple[Iterable[int], Message]]:
    """To whom what is to be said; nothing for an action that is not about saying something."""
    match action:
        case e.Propose(view, asked):
            yield asked, _proposal(view, term)
        case e.Commit(view):
            yield view.ranks, _commitment(view, term)
        case e.Remind(view, workers, committed):
            yield workers, _commitment(view, term) if committed else _proposal(view, term)
        case e.Confirm(worker, what, number):
            yield (worker,), {"kind": "heard", "term": term, "what": what, "number": number}
        case e.Release(worker):
            yield (worker,), farewell(term)


def farewell(term: int) -> Message:
    return {"kind": "quit", "term": term}


def _proposal(view: View, term: int) -> Message:
    members = [list(pair) for pair in view.members]
    return {"kind": "propose", "term": term, "epoch": view.epoch, "members": members, "cuts": list(view.cuts)}


def _commitment(view: View, term: int) -> Message:
    return {"kind": "commit", "term": term, "epoch": view.epoch}
