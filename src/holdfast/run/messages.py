"""What the processes of a run may say to one another: the kinds of messages, and what each must hold.

Nothing that came over a socket is acted upon before `checked` has seen it. Another message is another line here.
"""

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.planes.channel import Malformed, Message

_LARGEST = (1 << 63) - 1
_TOLD = 16


@dataclass(frozen=True)
class Shape:
    """What a field must be: in words for whoever got it wrong, and as a test."""

    text: str
    fits: Callable[[object], bool]


Kinds = Mapping[str, Mapping[str, Shape]]


def checked(message: Message, kinds: Kinds) -> Message:
    """The message, if it is of one of these kinds and holds what that must hold, and nothing else.

    Raises Malformed with the reason if not.
    """
    kind = message["kind"]
    if kind not in kinds:
        raise Malformed(f"{_shown(kind)} is not a kind of message that is known here")
    shapes = kinds[kind]
    for name in [*shapes, *message]:
        if name not in message:
            raise Malformed(f"`{kind}` is without its `{name}`")
        if name not in shapes and name != "kind":
            raise Malformed(f"`{kind}` has no field {_shown(name)}")
    for name, shape in shapes.items():
        if not shape.fits(message[name]):
            raise Malformed(f"`{name}` of `{kind}` is {_shown(message[name])}, which is not {shape.text}")
    return message


def _shown(value: object) -> str:
    """Short and printable, whatever it is."""
    return reprlib.repr(value).encode("ascii", "backslashreplace").decode()


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_text(value: object) -> bool:
    """Half of a surrogate pair is no text: the ledger could not keep it."""
    return isinstance(value, str) and value == value.encode(errors="replace").decode()


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(_is_number(each) for each in value)


def _are_pairs(value: object) -> bool:
    return isinstance(value, list) and all(_are_numbers(each) and len(each) == 2 for each in value)


def _are_told(value: object) -> bool:
    if not isinstance(value, list) or len(value) > _TOLD:
        return False
    try:
        return all(isinstance(each, dict) and bool(checked(each, FROM_WORKER)) for each in value)
    except (Malformed, KeyError):
        return False


NUMBER = Shape("a whole number from 0 on", _is_number)
FLAG = Shape("true or false", lambda value: isinstance(value, bool))
TEXT = Shape("a text", _is_text)
TEXTS = Shape("a list of texts", lambda value: isinstance(value, list) and all(map(_is_text, value)))
NUMBERS = Shape("a list of whole numbers from 0 on", _are_numbers)
PAIRS = Shape("a list of pairs of whole numbers from 0 on", _are_pairs)
TOLD = Shape(f"a list of at most {_TOLD} of a worker's messages", _are_told)

FROM_WORKER: Kinds = {
    "built": {"digest": TEXT},
    "accepted": {"epoch": NUMBER},
    "running": {"epoch": NUMBER},
    "done": {"epoch": NUMBER, "stopped": FLAG},
    "leaves": {},
    "evaluated": {"step": NUMBER},
    "failed": {"error": TEXT, "trace": TEXT},
}

FROM_PEOPLE: Kinds = {
    "stop": {},
    "scale": {"workers": NUMBER},
    "drain": {"worker": NUMBER},
    "pause": {},
    "unpause": {},
    "set": {"sets": TEXTS},
}
GREETINGS: Kinds = {
    "hello": {"worker": NUMBER, "term": NUMBER, "arena": NUMBER, "told": TOLD},
    **FROM_PEOPLE,
}

FROM_CAPTAIN: Kinds = {
    "welcome": {"term": NUMBER},
    "propose": {"term": NUMBER, "epoch": NUMBER, "members": PAIRS, "cuts": NUMBERS},
    "commit": {"term": NUMBER, "epoch": NUMBER},
    "heard": {"term": NUMBER, "what": TEXT, "number": NUMBER},
    "quit": {"term": NUMBER},
}
REFUSED: Kinds = {"refused": {"why": TEXT}}
ANSWERS: Kinds = {"ok": {"paused": FLAG, "change": NUMBER}, **REFUSED}
