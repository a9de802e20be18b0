"""What a change of the crew has cost is told once, of the step in which it came."""

from board import Board

from holdfast.run.stalls import Stalls
from holdfast.step.places import Header


def enter(board: Board, epoch: int, step: int, kept: int, torn: int) -> None:
    """What the leader of a view says when it begins to work."""
    for place, value in ((Header.ENTERED, step), (Header.KEPT, kept), (Header.TORN, torn), (Header.MENDED, epoch)):
        board.header[place] = value


def commit(board: Board, *times: float) -> None:
    for step, time in enumerate(times):
        board.row(step, 0.5, 8.0, time)
    board.header[Header.COMMITTED] = len(times)


def test_a_change_is_told_of_once_its_step_is_done(board: Board) -> None:
    enter(board, 1, 0, 0, 0)
    stalls = Stalls(board.gauges, replicas=8)
    commit(board, 0.0, 1.0, 2.0, 3.0)
    assert stalls.look() is None
    enter(board, 2, 4, 5, 1)
    assert stalls.look() is None
    assert stalls.look() is None
    commit(board, 0.0, 1.0, 2.0, 3.0, 4.75)
    told = stalls.look()
    assert told is not None
    step, note = told
    assert step == 4
    assert note.text == "step 4 was held up for 0.75 s; 5 of its 8 replicas kept, 1 torn piece restored"
    assert stalls.look() is None


def test_the_first_view_holds_nobody_up(board: Board) -> None:
    stalls = Stalls(board.gauges, replicas=8)
    enter(board, 1, 0, 0, 0)
    commit(board, 0.0, 1.0)
    assert stalls.look() is None
    assert stalls.look() is None
