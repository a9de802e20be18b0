"""What can be seen from outside: who is stuck, and which snapshot there is to save."""

from functools import partial

from board import Board

from holdfast.engines.base import Activity
from holdfast.planes.arena import PAGE
from holdfast.step.places import Header, Seat

MEMBERS = ((10, 0), (11, 1), (12, 3))
PATIENCE_S = 5.0


def stuck(board: Board, now: float) -> list[int]:
    return list(board.gauges.stuck(MEMBERS, PATIENCE_S, now))


def wait(board: Board, *seats: int, at: int) -> None:
    for seat in seats:
        board.seat(seat, Seat.WAITING, 1)
        board.seat(seat, Seat.ARRIVED, at)


def test_who_works_without_a_beat_is_stuck_once_patience_is_over(board: Board) -> None:
    wait(board, 0, 3, at=8)
    assert stuck(board, 0.0) == []
    assert stuck(board, 5.0) == []
    assert stuck(board, 5.1) == [11]


def test_a_beat_begins_the_time_anew(board: Board) -> None:
    wait(board, 0, 3, at=8)
    stuck(board, 0.0)
    board.seat(1, Seat.BEATS, 1)
    assert stuck(board, 5.1) == []
    assert stuck(board, 10.0) == []
    assert stuck(board, 10.2) == [11]


def test_who_waits_for_others_is_not_stuck(board: Board) -> None:
    wait(board, 0, 1, at=8)
    board.seat(3, Seat.ARRIVED, 7)
    stuck(board, 0.0)
    board.seat(3, Seat.BEATS, 1)
    assert stuck(board, 100.0) == []
    board.seat(3, Seat.WAITING, 1)
    board.seat(3, Seat.ARRIVED, 8)
    board.seat(0, Seat.WAITING, 0)
    assert stuck(board, 100.1) == []


def test_who_waits_for_what_is_there_is_stuck(board: Board) -> None:
    """A stopped process looks as if it waited, while the others have gone on to wait for it."""
    wait(board, 0, 3, at=9)
    wait(board, 1, at=8)
    stuck(board, 0.0)
    assert stuck(board, 5.1) == [11]


def test_when_all_wait_for_each_other_all_are_stuck(board: Board) -> None:
    wait(board, 0, 1, 3, at=8)
    stuck(board, 0.0)
    assert stuck(board, 5.1) == [10, 11, 12]


def test_a_worker_that_comes_later_has_its_own_time(board: Board) -> None:
    wait(board, 0, at=8)
    board.gauges.stuck([(10, 0), (11, 1)], PATIENCE_S, 0.0)
    assert board.gauges.stuck([(10, 0), (12, 3)], PATIENCE_S, 100.0) == {}


def test_the_time_in_which_nobody_looked_at_it_is_not_held_against_a_worker(board: Board) -> None:
    """There was no view, as in a pause: it had nothing to do."""
    stuck(board, 0.0)
    assert board.gauges.stuck((), PATIENCE_S, 1.0) == {}
    assert stuck(board, 100.0) == []
    assert stuck(board, 105.0) == []
    assert stuck(board, 105.1) == [10, 11, 12]


def beating(board: Board, beats: int, every_s: float) -> float:
    """Worker 11 beats a few times, the others wait for it; gives the time of the last beat."""
    wait(board, 0, 3, at=8)
    for beat in range(beats):
        board.seat(1, Seat.BEATS, beat + 1)
        board.gauges.stuck(MEMBERS, PATIENCE_S, beat * every_s, partial(_used, beat * every_s))
    return (beats - 1) * every_s


def _used(seconds: float, worker: int) -> Activity:
    return Activity(seconds, stopped=False)


def test_who_rests_is_given_twice_the_time_that_anybody_took(board: Board) -> None:
    last = beating(board, beats=8, every_s=0.1)

    def stuck_after(seconds: float, used_s: float) -> list[int]:
        return list(board.gauges.stuck(MEMBERS, PATIENCE_S, last + seconds, partial(_used, last + used_s)))

    assert stuck_after(0.7, used_s=0.0) == []
    assert stuck_after(0.9, used_s=0.5) == []
    assert stuck_after(0.9, used_s=0.0) == [11]


def test_of_who_is_stopped_nothing_need_be_learned(board: Board) -> None:
    last = beating(board, beats=1, every_s=0.1)

    def stuck_after(seconds: float) -> list[int]:
        return list(board.gauges.stuck(MEMBERS, PATIENCE_S, last + seconds, lambda _: Activity(last, stopped=True)))

    assert stuck_after(0.5) == []
    assert stuck_after(0.7) == [11]


def test_before_there_is_anything_to_learn_from_only_patience_counts(board: Board) -> None:
    last = beating(board, beats=3, every_s=0.1)
    assert not board.gauges.stuck(MEMBERS, PATIENCE_S, last + 4.9, partial(_used, last))
    assert list(board.gauges.stuck(MEMBERS, PATIENCE_S, last + 5.1, partial(_used, last))) == [11]


def test_a_captain_of_the_past_announces_to_nobody(board: Board) -> None:
    gauges = board.gauges
    gauges.begin_term(13)
    gauges.announce(13, 77)
    assert gauges.newest_epoch == 77
    gauges.begin_term(14)
    assert gauges.newest_epoch == 77
    gauges.announce(13, 78)
    assert gauges.newest_epoch == 77
    gauges.announce(14, 79)
    assert gauges.newest_epoch == 79
    gauges.announce(14 - Header.NUM_EPOCHS, 80)  # the same cell: nobody believes it
    assert gauges.newest_epoch is None
    gauges.announce(14, 81)
    assert gauges.newest_epoch == 81
    board.header[Header.TERM] = 13  # by a captain of the past that was stopped while it began its term
    gauges.announce(14, 82)
    assert gauges.newest_epoch == 82


def test_a_shadow_is_there_until_it_is_released(board: Board) -> None:
    assert board.gauges.shadow_step is None
    board.header[Header.SHADOW_FULL] = 1
    assert board.gauges.shadow_step == 0
    board.header[Header.SHADOW_FULL] = 8
    board.shadow[:] = b"x" * PAGE
    assert board.gauges.shadow_step == 7
    board.gauges.release_shadow(give_back=True)
    assert board.gauges.shadow_step is None
    assert bytes(board.shadow) == bytes(PAGE)


def test_rows_are_thinned_but_the_last_is_there(board: Board) -> None:
    for step in range(10):
        board.row(step, step / 2, 4, step + 100.0)
    assert [row.step for row in board.gauges.rows(0, 10, every=4)] == [0, 4, 8, 9]
    (row,) = board.gauges.rows(3, 4)
    assert (row.loss, row.samples, row.lr, row.time) == (1.5, 4, 0.1, 103.0)


def test_a_run_goes_on_from_where_it_was_loaded(board: Board) -> None:
    assert not board.gauges.is_prepared
    board.header[Header.READY] = 8
    assert board.gauges.is_prepared
    assert board.gauges.began_at == 7
