"""What dead runs left behind is removed; of a run that may live, nothing is."""

import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.engines.local import born
from holdfast.ledger import Ledger, Run
from holdfast.run import janitor
from holdfast.run.janitor import Leftover, look, remove, tidy
from holdfast.run.lease import RunLease, is_executed
from holdfast.run.place import RunPlace

HOUR_S = 3600.0
AFTER_GRACE_S = -(janitor._GRACE_S + 5.0)
DRAFT_BYTES = 1000
KEPT = ["job.json", "layout.json", "key", "checkpoints/step-00000005/COMMITTED", "logs/worker-0.log", "layout.txt"]

Spawn = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts processes that wait until they are killed; none outlives the test."""
    started = []

    def start(*words: str, cwd: Path | None = None) -> "subprocess.Popen[bytes]":
        command = words or ("sleep", "1000")
        shell = {"executable": "/bin/sh"} if words else {}
        started.append(subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, **shell))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """What is created in it was created an hour ago."""
    with Ledger.open(tmp_path / "home", clock=lambda: time.time() - HOUR_S) as opened:
        yield opened


@pytest.fixture
def run(ledger: Ledger) -> Run:
    return recorded(ledger, "running")


def recorded(ledger: Ledger, status: str) -> Run:
    """A run with a directory as runs leave it when they are killed."""
    made = ledger.create_run("digits", job={}, fingerprint="f", environment={}, workers=1, steps_total=9)
    ledger.update_run(made.id, status=status)
    for name in [*KEPT, *drafts()]:
        path = ledger.home / "runs" / made.id / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * DRAFT_BYTES)
    os.mknod(place(ledger, made).socket, stat.S_IFSOCK | 0o600)
    return ledger.run(made.id)


def drafts() -> list[str]:
    return ["layout.json.123", "standing-00000001.json.123", "checkpoints/step-00000010.tmp-123-ab12/state.safetensors"]


def place(ledger: Ledger, run: Run) -> RunPlace:
    return RunPlace(ledger.home / "runs" / run.id)


def here(ledger: Ledger) -> str:
    """How a holder of this boot and this namespace ends."""
    RunLease(ledger, "probe").release()
    lease = RunLease(ledger, "probe")
    held = ledger.lease("run:probe")
    assert held is not None
    lease.release()
    return held.holder.partition(".")[2]


def hold(ledger: Ledger, run: Run, process: str, ttl_s: float = 1000.0, at: str | None = None) -> None:
    where = here(ledger) if at is None else at
    holder = f"{process}-abcd.{where}" if where else f"{process}-abcd"
    assert ledger.acquire(f"run:{run.id}", holder, ttl_s, time.time()) is not None


def living(spawn: Spawn) -> str:
    process = spawn()
    return f"{process.pid}-{born(process.pid)}"


def dead(spawn: Spawn) -> str:
    process = spawn()
    name = f"{process.pid}-{born(process.pid)}"
    process.kill()
    process.wait()
    return name


def paths(ledger: Ledger, run: Run) -> set[str]:
    root = place(ledger, run).root
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def kinds(found: list[Leftover]) -> list[str]:
    return [one.kind for one in found]


def everything(ledger: Ledger, run: Run) -> set[str]:
    return {*KEPT, *drafts(), place(ledger, run).socket.name}


def test_all_that_a_dead_run_left_is_found_and_then_removed(ledger: Ledger, run: Run, spawn: Spawn) -> None:
    holder = dead(spawn)
    hold(ledger, run, holder)
    found = look(ledger)
    root = place(ledger, run).root
    assert {(one.kind, one.what, one.bytes) for one in found} == {
        ("status", "running", 0),
        ("lease", f"run:{run.id}", 0),
        ("socket", str(root / "control.sock"), 0),
        ("draft", str(root / "layout.json.123"), DRAFT_BYTES),
        ("draft", str(root / "standing-00000001.json.123"), DRAFT_BYTES),
        ("draft", str(root / "checkpoints" / "step-00000010.tmp-123-ab12"), DRAFT_BYTES),
    }
    assert {one.run for one in found} == {run.id}
    assert any(holder.split("-")[0] in one.why for one in found if one.kind == "lease")
    assert paths(ledger, run) == everything(ledger, run)
    assert ledger.run(run.id).status == "running"

    assert sorted(remove(ledger, found), key=repr) == sorted(found, key=repr)
    assert paths(ledger, run) == set(KEPT)
    assert ledger.run(run.id).status == "lost"
    assert [event.kind for event in ledger.events(run.id)] == ["lost"]
    assert look(ledger) == []


def test_a_run_that_was_cleaned_up_can_be_executed(ledger: Ledger, run: Run, spawn: Spawn) -> None:
    hold(ledger, run, dead(spawn))
    before = ledger.lease(f"run:{run.id}")
    remove(ledger, look(ledger))
    lease = RunLease(ledger, run.id)
    assert before is not None
    assert lease.term > before.term
    assert is_executed(ledger, run.id)


def test_nothing_of_a_living_run_is_found(ledger: Ledger, run: Run, spawn: Spawn) -> None:
    hold(ledger, run, living(spawn))
    assert look(ledger) == []
    tidy(ledger, run.id)
    tidy(ledger, recorded(ledger, "running").id)
    assert paths(ledger, run) == everything(ledger, run)
    assert ledger.run(run.id).status == "running"


def test_a_run_that_comes_to_life_after_the_look_is_left_alone(ledger: Ledger, run: Run) -> None:
    found = look(ledger)
    lease = RunLease(ledger, run.id)
    assert found
    assert remove(ledger, found) == []
    assert paths(ledger, run) == everything(ledger, run)
    assert ledger.run(run.id).status == "running"
    assert lease.renew(time.monotonic() + 5.0)


def test_a_run_that_has_ended_after_the_look_is_not_lost(ledger: Ledger, run: Run) -> None:
    found = look(ledger)
    ledger.update_run(run.id, status="finished")
    assert "status" not in kinds(remove(ledger, found))
    assert ledger.run(run.id).status == "finished"


def test_a_stopped_process_still_lives_when_its_lease_has_run_out(ledger: Ledger, run: Run, spawn: Spawn) -> None:
    holder = living(spawn)
    os.kill(int(holder.split("-")[0]), signal.SIGSTOP)
    hold(ledger, run, holder, AFTER_GRACE_S)
    assert look(ledger) == []


def test_a_pid_that_another_process_has_now_proves_nothing(ledger: Ledger, run: Run, spawn: Spawn) -> None:
    pid, birth = living(spawn).split("-")
    hold(ledger, run, f"{pid}-{int(birth) - 1}")
    assert "lease" in kinds(look(ledger))


def test_a_process_that_nobody_has_buried_is_dead(ledger: Ledger, run: Run, spawn: Spawn) -> None:
    process = spawn()
    hold(ledger, run, f"{process.pid}-{born(process.pid)}")
    assert look(ledger) == []
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert "lease" in kinds(look(ledger))


@pytest.mark.parametrize("at", ["0123abcd.4026531836", ""])
def test_a_holder_that_cannot_be_seen_from_here_is_given_time(ledger: Ledger, run: Run, spawn: Spawn, at: str) -> None:
    """It may be in another container, or of a version that did not say where it was."""
    holder = dead(spawn)
    hold(ledger, run, holder, at=at)
    assert look(ledger) == []
    held = ledger.lease(f"run:{run.id}")
    assert held is not None
    ledger.renew(held.name, held.holder, held.term, -60.0, time.time())
    assert look(ledger) == []
    ledger.renew(held.name, held.holder, held.term, AFTER_GRACE_S, time.time())
    assert "lease" in kinds(look(ledger))


def test_a_run_that_is_about_to_begin_is_not_lost(tmp_path: Path, ledger: Ledger) -> None:
    with Ledger.open(ledger.home) as now:
        young = recorded(now, "starting")
        old = recorded(ledger, "starting")
        assert {one.run for one in look(now)} == {old.id}
        remove(now, look(now))
        assert [now.run(young.id).status, now.run(old.id).status] == ["starting", "lost"]


def test_of_a_finished_run_only_drafts_and_sockets_go(ledger: Ledger) -> None:
    finished = recorded(ledger, "finished")
    assert kinds(remove(ledger, look(ledger))) == ["socket", "draft", "draft", "draft"]
    assert paths(ledger, finished) == set(KEPT)
    assert ledger.run(finished.id).status == "finished"
    assert ledger.events(finished.id) == []


def test_a_run_that_begins_cleans_up_after_itself_and_the_unfinished(
    ledger: Ledger, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(janitor, "_TIDY_S", HOUR_S)
    stopped, finished = recorded(ledger, "stopped"), recorded(ledger, "finished")
    tidy(ledger, stopped.id)
    assert paths(ledger, stopped) == paths(ledger, run) == set(KEPT)
    assert ledger.run(run.id).status == "lost"
    assert paths(ledger, finished) == everything(ledger, finished)


def test_a_run_that_begins_does_not_wait_for_others(ledger: Ledger, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(janitor, "_TIDY_S", 0.0)
    stopped = recorded(ledger, "stopped")
    tidy(ledger, stopped.id)
    assert paths(ledger, stopped) == set(KEPT)
    assert paths(ledger, run) == everything(ledger, run)


def test_old_runs_cost_a_run_that_begins_nothing(ledger: Ledger, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(20):
        recorded(ledger, "finished")
    asked: list[str] = []
    monkeypatch.setattr(ledger, "lease", asked.append)
    tidy(ledger, run.id)
    assert set(asked) == {f"run:{run.id}"}


def test_no_error_of_the_janitor_reaches_the_run(
    ledger: Ledger, run: Run, spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def fail(name: str) -> None:
        called.append(name)
        raise RuntimeError(name)

    monkeypatch.setattr(ledger, "lease", fail)
    tidy(ledger, run.id)
    assert called


class TestWorkers:
    """Processes whose command line is that of a worker, in truth shells that wait."""

    @staticmethod
    def start(spawn: Spawn, ledger: Ledger, root: Path | str) -> "subprocess.Popen[bytes]":
        (ledger.home / "holdfast.run.worker").write_text("read line\n")
        process = spawn("python", "-m", "holdfast.run.worker", str(root), "0", "9", "", cwd=ledger.home)
        assert process.poll() is None
        return process

    def test_they_are_left_alone_with_their_run_until_none_will_lead_them(
        self, ledger: Ledger, run: Run, spawn: Spawn
    ) -> None:
        worker = self.start(spawn, ledger, place(ledger, run).root)
        hold(ledger, run, dead(spawn), ttl_s=-1.0)
        assert look(ledger) == []
        tidy(ledger, run.id)
        assert paths(ledger, run) == everything(ledger, run)
        assert worker.poll() is None

    @pytest.mark.parametrize("spelled", ["absolute", "relative", "through a link"])
    def test_after_that_they_are_killed(self, ledger: Ledger, run: Run, spawn: Spawn, spelled: str) -> None:
        (ledger.home / "link").symlink_to(ledger.home / "runs")
        roots = {"absolute": place(ledger, run).root, "relative": f"runs/{run.id}", "through a link": f"link/{run.id}"}
        worker = self.start(spawn, ledger, roots[spelled])
        hold(ledger, run, dead(spawn), AFTER_GRACE_S)
        found = look(ledger)
        (process,) = [one for one in found if one.kind == "process"]
        assert process.what == f"{worker.pid}-{born(worker.pid)}"
        assert remove(ledger, found) == found
        assert worker.wait() == -signal.SIGKILL
        assert paths(ledger, run) == set(KEPT)

    def test_those_of_a_living_run_live(self, ledger: Ledger, run: Run, spawn: Spawn) -> None:
        worker = self.start(spawn, ledger, place(ledger, run).root)
        hold(ledger, run, living(spawn), AFTER_GRACE_S)
        assert remove(ledger, look(ledger)) == []
        assert worker.poll() is None

    def test_those_of_another_run_and_of_another_home_live(
        self, tmp_path: Path, ledger: Ledger, run: Run, spawn: Spawn
    ) -> None:
        with Ledger.open(tmp_path / "other") as other:
            theirs = self.start(spawn, ledger, place(other, run).root)
            lives = recorded(ledger, "running")
            mine = self.start(spawn, ledger, place(ledger, lives).root)
            hold(ledger, lives, living(spawn))
            assert "process" not in kinds(remove(ledger, look(ledger)))
            assert [theirs.poll(), mine.poll()] == [None, None]

    def test_a_process_that_only_speaks_of_a_worker_is_none(self, ledger: Ledger, run: Run, spawn: Spawn) -> None:
        root = str(place(ledger, run).root)
        speaks = spawn("sh", "-c", "read line", "-m", "holdfast.run.worker", root)
        assert "process" not in kinds(remove(ledger, look(ledger)))
        assert speaks.poll() is None

    def test_a_pid_that_another_worker_has_now_is_not_killed(self, ledger: Ledger, run: Run, spawn: Spawn) -> None:
        worker = self.start(spawn, ledger, place(ledger, run).root)
        stale = Leftover("process", run.id, f"{worker.pid}-{int(born(worker.pid)) - 1}", "")
        remove(ledger, [stale])
        assert worker.poll() is None
