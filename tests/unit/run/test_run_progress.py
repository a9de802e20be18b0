"""Rates are those of the last seconds, and say nothing before there is something to say."""

import pytest
from board import STEPS, Board

from holdfast.run.gauges import Row
from holdfast.run.progress import Progress, speed_of
from holdfast.run.view import View
from holdfast.step.places import Header, Seat

VIEW = View(1, ((7, 0), (8, 2)))


def commit(board: Board, steps: int, samples: float = 10.0) -> None:
    board.header[Header.READY] = 1
    for step in range(steps):
        board.row(step, 1.0 / (step + 1), samples, float(step))
    board.header[Header.COMMITTED] = steps


def test_nothing_is_known_at_first(board: Board) -> None:
    first = Progress(board.gauges, STEPS, 50.0).read(VIEW, 51.0)
    assert (first.step, first.steps, first.seconds) == (0, STEPS, 1.0)
    assert (first.loss, first.samples_per_s, first.eta_s) == (None, None, None)


def test_rates_are_counted(board: Board) -> None:
    progress = Progress(board.gauges, STEPS, 0.0)
    commit(board, 0)
    progress.read(VIEW, 0.0)
    commit(board, 20)
    board.seat(0, Seat.REPLICAS, 30)
    board.seat(2, Seat.REPLICAS, 50)
    now = progress.read(VIEW, 4.0)
    assert (now.step, now.loss) == (20, 1 / 20)
    assert now.samples_per_s == pytest.approx(50.0)
    assert now.eta_s == pytest.approx(16.0)
    assert now.replicas_per_s == {7: 7.5, 8: 12.5}


def test_the_distant_past_is_forgotten(board: Board) -> None:
    progress = Progress(board.gauges, STEPS, 0.0)
    for second in range(30):
        commit(board, min(second, 15))  # a step a second, and nothing from second 15 on
        now = progress.read(VIEW, float(second))
    assert now.samples_per_s is None
    assert now.eta_s is None
    commit(board, 25)
    # 10 steps within a window of some 10 seconds
    assert progress.read(VIEW, 30.0).samples_per_s == pytest.approx(10.0, rel=0.15)


def row(step: int, time: float, samples: float = 8.0) -> Row:
    return Row(step, 0.0, samples, 0.0, 0.0, time)


def test_speed_is_that_of_the_steady_part() -> None:
    slow = [row(step, 10.0 * step) for step in range(10)]
    steady = [row(step, 90.0 + step - 9) for step in range(10, 100)]
    speed = speed_of([*slow, *steady])
    assert speed.samples == 800
    assert speed.samples_per_s == pytest.approx(8.0)
    assert (speed.longest_step_s, speed.median_step_s) == (1.0, 1.0)


def test_a_stall_is_seen_in_the_longest_step_only() -> None:
    times = [float(step) for step in range(50)] + [57.0 + step for step in range(50)]
    speed = speed_of([row(step, time) for step, time in enumerate(times)])
    assert (speed.longest_step_s, speed.median_step_s) == (8.0, 1.0)


@pytest.mark.parametrize("rows", [[], [row(0, 1.0)], [row(0, 1.0), row(1, 1.0)]])
def test_too_little_has_no_speed(rows: list[Row]) -> None:
    speed = speed_of(rows)
    assert speed.samples == 8 * len(rows)
    assert (speed.samples_per_s, speed.longest_step_s, speed.median_step_s) == (None, None, None)
