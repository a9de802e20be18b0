"""Runs begun, continued and stopped: what the command line and the Python interface have in common."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast.engines.local import born, start_apart
from holdfast.errors import CheckpointError, RunError
from holdfast.faults import expect, reached
from holdfast.job import Job
from holdfast.job.changes import changed
from holdfast.ledger import UNFINISHED, Ledger
from holdfast.ledger.checkpoints import newest
from holdfast.planes.channel import Closed, Malformed, Message, connect
from holdfast.run.changes import Change
from holdfast.run.environment import differences, environment
from holdfast.run.events import Note
from holdfast.run.janitor import tidy
from holdfast.run.lease import here, is_executed
from holdfast.run.messages import ANSWERS, checked
from holdfast.run.place import RunPlace
from holdfast.run.session import Session, Show, Start

_STOP_S = 120.0
_ANSWER_S = 10.0
_AGAIN_S = 0.1


def launch(ledger: Ledger, job: Job) -> str:
    """Put a new run on record and write down what its processes need; its id."""
    run = ledger.create_run(
        job.name,
        job=job.resolved(),
        fingerprint=job.fingerprint,
        environment=environment(),
        workers=job.crew.workers.start,
        steps_total=job.train.steps or 0,
    )
    place = place_of(ledger, run.id)
    expect(place.root)
    reached("run.created")
    try:
        place.prepare(job)
    except Exception as error:
        ledger.update_run(run.id, status="failed", error=str(error))
        raise
    reached("run.prepared")
    return run.id


def execute(
    ledger: Ledger,
    run: str,
    show: Show,
    asked_at: float | None = None,
    arena: int | None = None,
    until: int = 0,
) -> dict[str, Any]:
    """Execute a launched run from its newest whole checkpoint, or from the beginning; its result.

    It stops after `until` steps, if that is not 0. With an arena, whose crew has lost its captain, lead that crew on
    instead. Ctrl-C stops the run at the end of a step, and a second one at once.
    """
    place = place_of(ledger, run)
    expect(place.root)
    job = place.job()
    show.begin(run, job)
    try:
        if arena is None:
            tidy(ledger, run)
            asked_at = time.monotonic() if asked_at is None else asked_at
            start = Start(run, _checkpoint(ledger, run, show), asked_at, until=until)
        else:
            start = Start(run, arena=arena)
        session = Session(ledger, job, start, show)
        with _interrupts(session.interrupt):
            return session.execute()
    finally:
        show.end()


def detach(ledger: Ledger, run: str) -> None:
    """Execute a launched run in a process of its own, which outlives this one."""
    start_apart(["holdfast.run.detached", run, str(ledger.home)], place_of(ledger, run).log_of_captain)


def stop(ledger: Ledger, run: str) -> None:
    """Have the process that executes the run stop it at the end of its step, with a checkpoint; waits for that."""
    ask(ledger, run, {"kind": "stop"})
    deadline = time.monotonic() + _STOP_S
    while is_executed(ledger, run):
        if time.monotonic() > deadline:
            raise RunError(f"run {run} was told to stop and is still at its step after {_STOP_S:g} s; it will stop")
        time.sleep(0.05)


def ask(ledger: Ledger, run: str, wish: Message) -> Message:
    """Tell the process that executes the run what is wanted of it; the answer. Raises RunError if it refuses."""
    deadline = time.monotonic() + _ANSWER_S
    while (answer := _answer(place_of(ledger, run), wish)) is None and time.monotonic() < deadline:
        if not is_alive(ledger, run):
            status = status_of(ledger, run)
            raise RunError(f"run {run} is not being executed (its status is {status}), so nobody can see to it")
        time.sleep(_AGAIN_S)  # its captain is gone, and the next one is on its way
    if answer is None:
        raise RunError(f"run {run} has not answered for {_ANSWER_S:g} s; try again")
    if answer["kind"] == "refused":
        raise RunError(f"run {run}: {answer['why']}")
    return answer


def _answer(place: RunPlace, wish: Message) -> Message | None:
    try:
        channel = connect(place.socket, place.key, wish)
    except (Closed, OSError):
        return None
    try:
        answer = channel.receive(timeout_s=_ANSWER_S)
        return answer and checked(answer, ANSWERS)
    except Closed:
        return None
    except Malformed as error:
        raise RunError(f"run {place.root.name} gave an answer that cannot be understood ({error})") from None
    finally:
        channel.close()


def change(ledger: Ledger, run: str, assignments: Sequence[str]) -> tuple[int, Change]:
    """Change the job of a run that is being executed, from its next step on; the number of the change, and the change.

    Waits for its first step to be fixed, but not for long: a paused run may take its time.
    """
    place = place_of(ledger, run)
    changed(place.changes.job(place.job(), place.changes.count()), assignments)
    answer = ask(ledger, run, {"kind": "set", "sets": list(assignments)})
    number = int(answer["change"])
    deadline = time.monotonic() + (0.0 if answer["paused"] else _ANSWER_S)
    while (made := place.changes.all()[number - 1]).from_step is None and time.monotonic() < deadline:
        if not is_alive(ledger, run):
            break
        time.sleep(0.02)
    return number, made


def place_of(ledger: Ledger, run: str) -> RunPlace:
    return RunPlace(ledger.home / "runs" / run)


def is_alive(ledger: Ledger, run: str) -> bool:
    """Whether somebody executes the run, or soon will: a crew without a captain brings about the next one."""
    if is_executed(ledger, run):
        return True
    standing = place_of(ledger, run).read_standing()
    if standing is None or standing["where"] != here():
        return False
    return any(born(pid) == since for pid, since in standing["processes"].values())


def status_of(ledger: Ledger, run: str) -> str:
    """As recorded, except that a run whose processes died unseen is `lost`."""
    recorded = ledger.run(run).status
    if recorded in UNFINISHED and not is_alive(ledger, run):
        young = time.time() - ledger.run(run).created < 30.0
        return recorded if recorded == "starting" and young else "lost"
    return recorded


def saved_state(ledger: Ledger, run: str) -> Path:
    """The newest checkpoint that is whole to the last byte."""
    info, rejected = newest(place_of(ledger, run).checkpoints)
    if info is None:
        reasons = "; ".join(f"{path.name}: {reason}" for path, reason in rejected) or "none was written"
        raise CheckpointError(f"run {run} has no checkpoint that can be used ({reasons})")
    return info.path


def _checkpoint(ledger: Ledger, run: str, show: Show) -> str:
    info, rejected = newest(place_of(ledger, run).checkpoints)
    for path, reason in rejected:
        _tell(ledger, run, show, Note("passed_over", f"checkpoint {path.name} is passed over: {reason}"))
    if info is None:
        return ""
    changed = differences(ledger.run(run).environment, environment())
    if changed:
        text = f"the environment changed, so equality now holds to rounding, not to the bit: {', '.join(changed)}"
        _tell(ledger, run, show, Note("environment", text))
    _tell(ledger, run, show, Note("resumed", f"resumed from the checkpoint of step {info.step}"), info.step)
    return str(info.path)


def _tell(ledger: Ledger, run: str, show: Show, note: Note, step: int = 0) -> None:
    ledger.add_event(run, note.kind, note.text, step=step)
    show.note(note, "", step)


@contextmanager
def _interrupts(interrupt: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and a polite kill go to the session, where this thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: interrupt())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
