"""Every place at which a process of a run may be made to die: it dies there, and the run comes to the same end."""

from typing import Any

import pytest
from struck import JOB, NET, Struck
from terminal import Terminal, until

from holdfast.faults import POINTS

NEVER_BEGUN = ("run.created",)
NEED_A_CHANGE = ("change.drafted", "change.fixed")
AFTER = {
    "stretch.restored": "piece.updated",
    "piece.mended": "piece.updated",
    "captain.missed": "view.committed",
    "captain.called": "view.committed",
    "captain.found": "view.committed",
    "standing.read": "view.committed",
    "worker.released": "partial.published@1=notice",
    "worker.killed": "replica.begun@1=stop",
    "worker.buried": "replica.begun@1",
    "section.restored": "state.saved",
    "checkpoint.aside": "state.saved",
    "lease.renewed": "worker.built@0=stop",
}
"""Places that nobody comes to unless something has happened before."""
WORDS = {"piece.copied": ("--set=optimizer.kind=sgd",)}
"""Places that the usual job does not have."""
WHO = {"file.drafted": "@0"}
"""Before these, whoever begins the run comes to the same place, and there is nothing to be resumed."""
RARE = {
    *("file.drafted", "worker.built", "state.prepared", "stretch.restored", "piece.mended", "state.mended"),
    *("captain.missed", "captain.called", "captain.found", "run.prepared", "lease.taken", "lease.renewed", "lease.due"),
    *("run.begun", "standing.read", "worker.greeted", "worker.started", "worker.buried", "worker.released"),
    *("worker.killed", "view.announced", "view.proposed", "view.agreed", "view.committed", "crew.ended"),
    *("crew.dismissed", "standing.forgotten", "state.saved", "run.recorded", "checkpoint.aside"),
}
"""Places that one process need not come to again and again."""
POINTS_OF_A_RUN = [point for point in POINTS if point not in (*NEVER_BEGUN, *NEED_A_CHANGE)]


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], dict[str, Any]]:
    """What runs come to when nothing happens, by the words they are started with; found out when asked for."""
    return _Calm(tmp_path_factory)


class _Calm(dict[tuple[str, ...], dict[str, Any]]):
    def __init__(self, places: pytest.TempPathFactory) -> None:
        super().__init__()
        self._places = places

    def __missing__(self, words: tuple[str, ...]) -> dict[str, Any]:
        self[words] = Struck(Terminal(self._places.mktemp("calm")), "", *words).result
        return self[words]


@pytest.mark.parametrize(
    "fault",
    [
        "partial.computed@0,piece.marked@1,buffers.prepared,replica.begun:9=stop",
        "view.announced,standing.read,marker.written:2,crew.ended",
        "state.saved,section.restored,checkpoint.aside",
    ],
    ids=["workers", "captains", "all"],
)
def test_deaths_where_they_hurt_change_nothing(terminal: Terminal, calm: Any, fault: str) -> None:
    survives(terminal, calm, fault)


@pytest.mark.soak
@pytest.mark.parametrize("passage", [1, 3])
@pytest.mark.parametrize("action", ["kill", "stop"])
@pytest.mark.parametrize("point", POINTS_OF_A_RUN)
def test_a_death_at_any_point_changes_nothing(
    terminal: Terminal, calm: Any, point: str, action: str, passage: int
) -> None:
    before = [AFTER[point]] if point in AFTER else []
    fault = ",".join([*before, f"{point}{WHO.get(point, '')}:{passage}={action}"])
    survives(terminal, calm, fault, *WORDS.get(point, ()), must_happen=passage == 1 or point not in RARE)


def survives(terminal: Terminal, calm: Any, fault: str, *words: str, must_happen: bool = True) -> None:
    struck = Struck(terminal, fault, *words)
    assert struck.result == calm[words], struck.told
    assert struck.has_happened() or not must_happen, struck.told
    assert struck.leftovers() == []


@pytest.mark.parametrize("fault", ["run.created", "file.drafted", "file.drafted:2"])
def test_a_run_that_was_never_begun_is_said_to_be_so(terminal: Terminal, fault: str) -> None:
    terminal.write("net.py", NET)
    job = terminal.write("job.toml", JOB)
    assert terminal.finished(terminal.start("run", job, fault=fault)).code == -9
    refused = terminal.type("resume", "last")
    assert refused.code == 6
    assert refused.sentence.endswith("was never begun: who was to begin it died first; begin anew with `holdfast run`")


@pytest.mark.soak
@pytest.mark.parametrize("point", NEED_A_CHANGE)
def test_a_death_amid_a_change_of_the_job_is_part_of_no_history(terminal: Terminal, point: str) -> None:
    terminal.write("net.py", NET)
    words = ("--set=train.steps=5000", "--workers=2")
    process = terminal.start("run", terminal.write("job.toml", JOB), *words, fault=point)
    until(terminal.is_stepping)
    terminal.finished(terminal.start("set", "last", "optimizer.lr=0.0001"))
    until(lambda: terminal.status() == "finished")
    terminal.finished(process)
    until(lambda: terminal.workers() == [])
    assert list(terminal.home.glob("runs/*/fault-*"))
    replayed = terminal.type("replay", "last", "--json")
    assert replayed.code == 0, replayed.err


def test_a_fault_that_cannot_be_understood_gets_a_sentence(terminal: Terminal) -> None:
    refused = terminal.finished(terminal.start("ps", fault="piece.markd"))
    assert refused.code == 1
    assert refused.sentence == "HOLDFAST_FAULT: there is no point `piece.markd`; did you mean `piece.marked`?"
