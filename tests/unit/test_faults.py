"""What HOLDFAST_FAULT may say, and when it comes true."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.faults import Fault, Faults, parse

Struck = list[int]


@pytest.fixture
def struck() -> Iterator[Struck]:
    """One entry for each time that this process was struck, by a signal that it survives."""
    times: Struck = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: times.append(number))
    yield times
    signal.signal(signal.SIGUSR1, before)


def process(run: Path, *faults: Fault, worker: int | None = None) -> Faults:
    made = Faults(list(faults))
    made.expect(run, worker)
    return made


def fault(worker: int | None = None, passage: int = 1) -> Fault:
    return Fault("text", "piece.marked", worker, passage, signal.SIGUSR1)


def test_all_forms_of_a_fault() -> None:
    assert parse("piece.marked") == [Fault("piece.marked", "piece.marked", None, 1, signal.SIGKILL)]
    assert parse("piece.marked@12:3=stop, run.begun=notice") == [
        Fault("piece.marked@12:3=stop", "piece.marked", 12, 3, signal.SIGSTOP),
        Fault("run.begun=notice", "run.begun", None, 1, signal.SIGTERM),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("piece.markd", "there is no point `piece.markd`; did you mean `piece.marked`?"),
        ("xyz", "there is no point `xyz`; all points are listed in "),
        ("piece.marked=explode", "`explode` is nothing that can happen; use kill, stop or notice"),
        ("piece.marked:0", "`piece.marked:0` is not of the form POINT[@WORKER][:PASSAGE][=kill|stop|notice]"),
        ("piece.marked,", "`` is not of the form POINT[@WORKER][:PASSAGE][=kill|stop|notice]"),
    ],
)
def test_what_cannot_be_understood_gets_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(HoldfastError) as refused:
        parse(text)
    assert str(refused.value).startswith(f"HOLDFAST_FAULT: {sentence}")


def test_it_happens_at_the_passage_of_the_point_that_is_meant(tmp_path: Path, struck: Struck) -> None:
    dying = process(tmp_path, fault(passage=3))
    for _ in range(2):
        dying.reached("piece.marked")
        dying.reached("piece.done")
    assert struck == []
    dying.reached("piece.marked")
    assert len(struck) == 1


def test_it_happens_once_in_a_run(tmp_path: Path, struck: Struck) -> None:
    for _ in range(2):
        process(tmp_path / "one", fault()).reached("piece.marked")
    assert len(struck) == 1
    process(tmp_path / "other", fault()).reached("piece.marked")
    assert len(struck) == 2


def test_what_is_written_twice_happens_twice(tmp_path: Path, struck: Struck) -> None:
    for _ in range(3):
        process(tmp_path, fault(), fault(), worker=1).reached("piece.marked")
    assert len(struck) == 2


def test_it_happens_to_the_worker_that_is_meant(tmp_path: Path, struck: Struck) -> None:
    for worker in (None, 0, 2):
        process(tmp_path, fault(worker=1), worker=worker).reached("piece.marked")
    assert struck == []
    process(tmp_path, fault(worker=1), worker=1).reached("piece.marked")
    assert len(struck) == 1


def test_nothing_happens_to_a_process_of_no_run(struck: Struck) -> None:
    Faults([fault()]).reached("piece.marked")
    assert struck == []
