"""What is drawn is what happened."""

import pytest
from scenes import Clock, killed_and_replaced

from holdfast.cli.demo.chart import ASCII, BLOCKS, Glyphs, chart
from holdfast.cli.demo.witness import Witness


def test_lives_along_time() -> None:
    bars = {bar.label: bar.text for bar in chart(killed_and_replaced(Clock()), 20, ASCII)}
    assert bars["worker 0"] == "....################"
    assert bars["worker 1"] == "....########X       "
    assert bars["worker 2"] == "            ....####"


def test_no_speed_is_shown_before_the_first_step() -> None:
    bars = {bar.label: bar.text for bar in chart(killed_and_replaced(Clock()), 20, ASCII)}
    assert bars["steps/s"] == " " * 4 + "@" * 16


@pytest.mark.parametrize("glyphs", [ASCII, BLOCKS])
@pytest.mark.parametrize("columns", [20, 60, 97])
def test_all_lines_are_equally_wide(glyphs: Glyphs, columns: int) -> None:
    assert {len(bar.text) for bar in chart(killed_and_replaced(Clock()), columns, glyphs)} == {columns}


def test_seconds_stand_where_they_are() -> None:
    axis = chart(killed_and_replaced(Clock()), 60, ASCII)[-1].text
    assert axis.index("4 s") == 24


def test_a_death_in_the_last_moment_is_seen() -> None:
    witness = killed_and_replaced(Clock())
    witness.lives[1].died = 10.0
    assert chart(witness, 20, ASCII)[1].text == "....###############X"


def test_nothing_has_happened_yet() -> None:
    assert [bar.label for bar in chart(Witness(), 20, ASCII)] == ["steps/s", ""]
