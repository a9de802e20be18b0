"""What is not a message of the kind that is expected is refused, whatever is wrong with it, and never with a crash."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.planes.channel import Malformed
from holdfast.run import messages
from holdfast.run.messages import ANSWERS, FROM_CAPTAIN, FROM_PEOPLE, FROM_WORKER, GREETINGS, Kinds, checked

PROPER: dict[str, dict[str, Any]] = {
    "hello": {"worker": 3, "term": 0, "arena": 77, "told": [{"kind": "built", "digest": "d"}, {"kind": "leaves"}]},
    "built": {"digest": "0123abcd"},
    "accepted": {"epoch": 65537},
    "running": {"epoch": 65537},
    "done": {"epoch": 65537, "stopped": False},
    "leaves": {},
    "evaluated": {"step": 9},
    "failed": {"error": "no ⚓ here", "trace": "Traceback\n\x1b[1m…"},
    "stop": {},
    "scale": {"workers": 3},
    "drain": {"worker": 0},
    "pause": {},
    "unpause": {},
    "set": {"sets": ["optimizer.lr=0.5"]},
    "heard": {"term": 1, "what": "done", "number": 65537},
    "propose": {"term": 1, "epoch": 65537, "members": [[0, 0], [1, 2]], "cuts": [3]},
    "commit": {"term": 1, "epoch": 65537},
    "quit": {"term": 1},
    "welcome": {"term": 1},
    "ok": {"paused": False, "change": 0},
    "refused": {"why": "so it is"},
}
TABLES: list[Kinds] = [GREETINGS, FROM_WORKER, FROM_PEOPLE, FROM_CAPTAIN, ANSWERS]
KINDS = [(kind, table) for table in TABLES for kind in table]
FIELDS = [(kind, table, name) for kind, table in KINDS for name in table[kind]]


def nested(depth: int) -> Any:
    return json.loads("[" * depth + "]" * depth)


BAD: list[Any] = [None, True, -1, 1.0, 1.5, float("inf"), 1 << 63, 10**400, {}, {"a": 1}, [1], [[1]], [[1, 2, 3]]]
BAD += ["3", "\ud800", [[0, -1]], [[0, True]], [{}], [{"kind": "hello"}], [{"kind": 7}], nested(900), {"a": nested(5)}]
BAD += [
    {"a": None},
    {"a": 10**400},
    {"a": {}},
    {"\udfff": 1},
    [{"kind": "leaves"}] * 17,
    [{"kind": "done"}],
]


def fits(value: Any, name: str) -> bool:
    """Which of the bad values are good after all, for this field."""
    match name:
        case "digest" | "error" | "trace" | "why" | "what":
            return value == "3"
        case "stopped" | "paused":
            return value is True
        case "cuts":
            return value in ([1], [])
        case "sets":
            return value == []
        case _:
            return False


@pytest.mark.parametrize(("kind", "table"), KINDS)
def test_proper_messages_pass(kind: str, table: Kinds) -> None:
    message = json.loads(json.dumps({"kind": kind, **PROPER[kind]}))
    assert checked(message, table) is message


@pytest.mark.parametrize(("kind", "table", "name"), FIELDS)
def test_each_field_must_be_there_and_be_what_it_is(kind: str, table: Kinds, name: str) -> None:
    without = {key: value for key, value in PROPER[kind].items() if key != name}
    with pytest.raises(Malformed, match=f"`{kind}` is without its `{name}`"):
        checked({"kind": kind, **without}, table)
    for value in BAD:
        message = {"kind": kind, **without, name: value}
        if fits(value, name):
            checked(message, table)
            continue
        with pytest.raises(Malformed, match=f"^`{name}` of `{kind}` is .* which is not ") as raised:
            checked(message, table)
        assert str(raised.value).isascii()
        assert str(raised.value).isprintable()
        assert len(str(raised.value)) < 400


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", ["", "nonsense", "\ud800\n\x1b[2J" * 100, "hello "])
def test_other_kinds_are_not_known(table: Kinds, kind: str) -> None:
    with pytest.raises(Malformed, match="is not a kind of message that is known here") as raised:
        checked({"kind": kind}, table)
    assert str(raised.value).isprintable()


def test_other_fields_are_not_known() -> None:
    with pytest.raises(Malformed, match="`commit` has no field 'more'"):
        checked({"kind": "commit", "term": 1, "epoch": 1, "more": 1}, FROM_CAPTAIN)


def test_what_one_side_may_say_the_other_may_not() -> None:
    for kind in FROM_CAPTAIN.keys() | {"hello"}:
        with pytest.raises(Malformed):
            checked({"kind": kind, **PROPER[kind]}, FROM_WORKER)
    for kind in FROM_WORKER:
        with pytest.raises(Malformed):
            checked({"kind": kind, **PROPER[kind]}, GREETINGS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from([*{f[2] for f in FIELDS}, "x"]), JSON, max_size=4))
def test_whatever_comes_is_passed_or_malformed(which: tuple[str, Kinds], fields: dict[str, Any]) -> None:
    kind, table = which
    try:
        passed = checked({**PROPER[kind], **fields, "kind": kind}, table)
    except Malformed:
        return
    assert passed.keys() == {"kind", *table[kind]}


def test_all_kinds_that_the_code_says_are_in_a_table() -> None:
    """Every `"kind": "…"` that is sent somewhere in the rooms above."""
    said = set()
    for path in Path(messages.__file__).parents[1].rglob("*.py"):
        said |= {part.split('"')[0] for part in path.read_text().split('"kind": "')[1:]}
    assert said <= {kind for kind, _ in KINDS}
