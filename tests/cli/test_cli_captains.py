"""The process that leads a run dies or sleeps, and the run goes on to the same bits; people look on and have wishes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from besiegers import siege
from terminal import Terminal, until

from holdfast.ledger import Event, Ledger
from holdfast.run.place import RunPlace

STEPS = 8000
JOB = f"""\
name = "long"
model = "mlp"
data = "random"
[train]
replicas = 4
batch = 16
steps = {STEPS}
[checkpoint]
every_minutes = 5.0
"""


@pytest.fixture
def job(terminal: Terminal) -> str:
    return terminal.write("job.toml", JOB)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The SHA-256 of what the job makes when nothing happens."""
    calm = Terminal(tmp_path_factory.mktemp("calm"))
    state: str = calm.type("run", calm.write("job.toml", JOB), "--json").json["state_sha256"]
    return state


def begun(terminal: Terminal, *words: str) -> subprocess.Popen[str]:
    """A new run whose crew has agreed on its first view."""
    process = terminal.start(*words)
    until(terminal.is_stepping)
    return process


def events(terminal: Terminal, kind: str = "") -> list[Event]:
    with Ledger.open(terminal.home) as ledger:
        found = ledger.events(ledger.run("last").id)
    return [event for event in found if not kind or event.kind == kind]


def place_of(terminal: Terminal) -> RunPlace:
    """That of the newest run."""
    with Ledger.open(terminal.home) as ledger:
        return RunPlace(terminal.home / "runs" / ledger.run("last").id)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 16
    file.write_bytes(content)


def result(terminal: Terminal) -> dict[str, Any]:
    """Of the newest run, once it is finished and everybody has left."""
    until(lambda: terminal.status() == "finished")
    until(lambda: terminal.workers() == [])
    with Ledger.open(terminal.home) as ledger:
        found = ledger.run("last").result
    assert found is not None
    return found


def tell(terminal: Terminal, *words: str) -> str:
    done = terminal.finished(terminal.start(*words))
    assert done.code == 0, done.err
    return done.out


def test_the_users_process_is_killed_and_the_run_goes_on(terminal: Terminal, job: str, undisturbed: str) -> None:
    process = begun(terminal, "run", job, "--workers", "2")
    process.kill()
    process.communicate()
    until(lambda: bool(events(terminal, "captain")))
    watched = terminal.finished(terminal.start("attach", "last", "--json"))
    assert watched.code == 0, watched.err
    assert json.loads(watched.out)["state_sha256"] == undisturbed
    assert result(terminal)["steps"] == STEPS
    assert events(terminal, "died") == []


def test_captains_and_workers_die_one_after_the_other(terminal: Terminal, job: str, undisturbed: str) -> None:
    process = begun(terminal, "run", job, "--workers", "2")
    os.kill(terminal.workers()[0], signal.SIGKILL)
    process.kill()
    process.communicate()
    until(lambda: len(events(terminal, "captain")) == 1)
    with Ledger.open(terminal.home) as ledger:
        successor = ledger.run("last").pid
    assert successor is not None
    os.kill(successor, signal.SIGKILL)
    until(lambda: len(events(terminal, "captain")) == 2)
    assert result(terminal)["state_sha256"] == undisturbed


def test_a_captain_that_slept_finds_itself_superseded(terminal: Terminal, job: str) -> None:
    process = begun(terminal, "run", job, "--workers", "2", "--set=train.steps=50000000")
    process.send_signal(signal.SIGSTOP)
    with Ledger.open(terminal.home) as ledger:
        run = ledger.run("last").id
        lease = ledger.lease(f"run:{run}")
        assert lease is not None
        # What ten seconds would do, without the wait.
        assert ledger.release(lease.name, lease.holder, lease.term)
    os.kill(terminal.workers()[0], signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    slept = terminal.finished(process)
    assert slept.code == 6
    assert "another process leads run" in slept.sentence
    until(lambda: bool(events(terminal, "captain")))
    tell(terminal, "stop", run)
    until(lambda: terminal.workers() == [])


def test_a_captain_that_is_stopped_for_good_is_followed(terminal: Terminal, job: str) -> None:
    """In the middle of a change of the crew, in which nobody can go on without it."""
    process = begun(terminal, "run", job, "--workers", "2", "--set=train.steps=50000000")
    process.send_signal(signal.SIGSTOP)
    os.kill(terminal.workers()[0], signal.SIGKILL)
    until(lambda: bool(events(terminal, "captain")))
    until(lambda: any(event.kind == "view" for event in events(terminal)[-3:]))
    tell(terminal, "stop", "last")
    process.kill()
    terminal.finished(process)
    until(lambda: terminal.workers() == [])


def test_wishes_of_people_change_the_crew_and_not_the_model(terminal: Terminal, job: str, undisturbed: str) -> None:
    process = begun(terminal, "run", job, "--workers", "1", "--json")
    assert tell(terminal, "scale", "last", "3").endswith("is to have 3 workers\n")
    until(lambda: len(terminal.workers()) == 3)
    tell(terminal, "pause", "last")
    until(lambda: terminal.status() == "paused")
    assert "goes on" in tell(terminal, "resume", "last")
    until(lambda: terminal.status() == "running")
    until(lambda: any("workers 0, 1, 2" in event.text for event in events(terminal, "view")))
    tell(terminal, "drain", "last", "0")
    until(lambda: [event.worker for event in events(terminal, "left")] == [0])
    os.kill(terminal.workers()[0], signal.SIGTERM)
    until(lambda: len(events(terminal, "left")) == 2)
    done = terminal.finished(process)
    assert done.code == 0, done.err
    assert done.json["state_sha256"] == undisturbed
    assert events(terminal, "died") == []


def test_wishes_that_cannot_be_granted_get_a_sentence(terminal: Terminal, job: str) -> None:
    process = begun(terminal, "run", job, "--set=train.steps=50000000")
    for words, sentence in (
        (("scale", "last", "9"), "9 is not a number of workers between 1 and 4, the job's replicas"),
        (("scale", "last", "0"), "0 is not a number of workers between 1 and 4, the job's replicas"),
        (("drain", "last", "7"), "there is no worker 7; there are 0"),
        (("drain", "last", "0"), "worker 0 is the only one; pause or stop the run instead"),
    ):
        refused = terminal.finished(terminal.start(*words))
        assert refused.code == 6
        assert refused.sentence.endswith(sentence)
    process.send_signal(signal.SIGINT)
    assert terminal.finished(process).code == 130
    late = terminal.type("pause", "last")
    assert (late.code, "is not being executed" in late.sentence) == (6, True)
    gone = terminal.type("attach", "last")
    assert (gone.code, "is not being executed (its status is stopped)" in gone.sentence) == (6, True)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_stopped_worker_is_not_waited_for(terminal: Terminal, job: str, undisturbed: str, workers: str) -> None:
    process = begun(terminal, "run", job, "--workers", workers, "--json")
    os.kill(terminal.workers()[-1], signal.SIGSTOP)
    done = terminal.finished(process)
    assert done.json["state_sha256"] == undisturbed
    assert "made no progress for" in done.err


def test_after_a_power_cut_the_run_is_resumed_to_the_same_bits(terminal: Terminal, job: str, undisturbed: str) -> None:
    """All at once: the captain, and every worker. And the newest checkpoints are spoilt, each in its way."""
    process = begun(
        terminal, "run", job, "--workers", "2", "--set=checkpoint.every_steps=50", "--set=checkpoint.keep=4"
    )
    place = place_of(terminal)
    until(lambda: len(list(place.checkpoints.glob("step-????????"))) >= 4)
    for pid in [process.pid, *terminal.workers()]:
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    until(lambda: terminal.workers() == [])

    flipped, cut, unmarked, good, *_ = sorted(place.checkpoints.glob("step-????????"), reverse=True)
    flip(flipped / "state.safetensors")
    os.truncate(cut / "state.safetensors", 1000)
    (unmarked / "COMMITTED").unlink()
    resumed = terminal.type("resume", "last", "--json")
    assert resumed.json["state_sha256"] == undisturbed
    told = " ".join(event.text for event in events(terminal, "passed_over"))
    for name, reason in (
        (flipped.name, "chunk 0 of section "),
        (cut.name, "state.safetensors has 1000 bytes where "),
        (unmarked.name, "there is no COMMITTED marker, so its writing was cut short"),
    ):
        assert f"checkpoint {name} is passed over: {reason}" in told
        assert f"checkpoint {name} is passed over: {reason}" in resumed.err
    assert f"resumed from the checkpoint of step {int(good.name.removeprefix('step-'))}" in resumed.err


def test_a_siege_of_the_captain_changes_nothing(terminal: Terminal, job: str, undisturbed: str) -> None:
    """Meanwhile a worker dies and is replaced, and people are answered."""
    process = begun(terminal, "run", job, "--workers", "2", "--json")
    with siege(place_of(terminal)):
        until(lambda: len(events(terminal, "refused")) >= 5)
        os.kill(terminal.workers()[0], signal.SIGKILL)
        until(lambda: len(events(terminal, "view")) >= 3)
        assert "is to have 1 worker" in tell(terminal, "scale", "last", "1")
        until(lambda: bool(events(terminal, "left")))
    done = terminal.finished(process)
    assert done.code == 0, done.err
    assert done.json["state_sha256"] == undisturbed
    assert events(terminal, "captain") == []
    assert len(events(terminal, "died")) == 1
    refused = [event.text for event in events(terminal, "refused")]
    assert " more were refused; the last: " in refused[-1]
    assert len(refused) < 30


@pytest.mark.soak
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a slow worker needs a core that it shares with somebody")
def test_work_follows_speed_and_the_model_stays(terminal: Terminal, job: str) -> None:
    """One worker shares its core with three others who burn it."""
    heavy = ("--set=train.steps=1000", "--set=train.batch=512", "--set=model.args.hidden=[1024, 1024]")
    calm = terminal.finished(terminal.start("run", job, *heavy, "--json")).json["state_sha256"]
    process = terminal.start("run", job, "--workers", "2", *heavy, "--json")
    until(lambda: len(terminal.workers()) == 2)
    until(lambda: "view 1" in " ".join(event.text for event in events(terminal, "view")))
    cores = sorted(os.sched_getaffinity(0))
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    for core, pids in ((cores[0], terminal.workers()[:1]), (cores[1], [*terminal.workers()[1:], *_pids(burning)])):
        for pid in pids:
            for task in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(task), {core})
    try:
        until(lambda: bool(events(terminal, "balanced")))
    finally:
        for burner in burning:
            burner.kill()
            burner.wait()
    done = terminal.finished(process)
    assert done.code == 0, done.err
    assert done.json["state_sha256"] == calm


def _pids(processes: list[subprocess.Popen[bytes]]) -> list[int]:
    return [process.pid for process in processes]
