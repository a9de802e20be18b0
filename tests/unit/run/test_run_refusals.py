"""Who was refused is told, and a flood of refusals is told in a few lines."""

from holdfast.run import refusals
from holdfast.run.refusals import Refusals

SPAN_S, NAMED = refusals._SPAN_S, refusals._NAMED


def test_the_first_are_named_and_the_others_counted() -> None:
    made = Refusals()
    told = [line for number in range(1000) for line in made.add(f"number {number}", 50.0 + number / 1000)]
    assert told == [f"number {number}" for number in range(NAMED)]
    assert made.due(50.0 + SPAN_S - 0.1) == []
    assert made.due(50.0 + SPAN_S) == [f"{1000 - NAMED} more were refused; the last: number 999"]
    assert made.due(50.0 + 2 * SPAN_S) == []


def test_after_a_while_they_are_named_again() -> None:
    made = Refusals()
    for _ in range(NAMED + 1):
        made.add("early", 0.0)
    assert made.add("late", SPAN_S) == ["1 more were refused; the last: early", "late"]
    assert made.add("later", SPAN_S + 1.0) == ["later"]


def test_an_hour_of_flood_is_a_few_lines_a_minute() -> None:
    made = Refusals()
    told = [line for tenth in range(36_000) for line in made.add("again", tenth / 10)]
    assert len(told) <= (NAMED + 1) * 60
