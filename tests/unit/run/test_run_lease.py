"""One process executes a run; the dead are not waited for, and the living are not robbed."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import RunError
from holdfast.ledger import Ledger
from holdfast.run.lease import RunLease, Superseded, is_executed

RUN = "digits-1a2b3c"
NAME = f"run:{RUN}"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "home") as opened:
        yield opened


def started(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def held_by(ledger: Ledger, holder: str, ttl_s: float = 1000.0) -> int:
    term = ledger.acquire(NAME, holder, ttl_s, time.time())
    assert term is not None
    return term


def living() -> str:
    """A process that certainly lives and is not this one."""
    return f"{os.getppid()}-{started(os.getppid())}-abcd"


def dead() -> str:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    return f"{pid}-12345-abcd"


def test_a_free_run_is_taken_and_given_back(ledger: Ledger) -> None:
    assert not is_executed(ledger, RUN)
    lease = RunLease(ledger, RUN)
    assert is_executed(ledger, RUN)
    lease.release()
    assert not is_executed(ledger, RUN)
    RunLease(ledger, RUN)


def test_a_living_holder_is_refused_with_its_process(ledger: Ledger) -> None:
    held_by(ledger, living())
    sentence = (
        f"run {RUN} is being executed by process {os.getppid()}; "
        f"watch it with `holdfast attach {RUN}`, or stop it first with `holdfast stop {RUN}`"
    )
    with pytest.raises(RunError, match=f"^{re.escape(sentence)}$"):
        RunLease(ledger, RUN)
    assert is_executed(ledger, RUN)


def test_a_dead_holder_is_taken_over_at_once(ledger: Ledger) -> None:
    term = held_by(ledger, dead())
    assert not is_executed(ledger, RUN)
    RunLease(ledger, RUN)
    after = ledger.lease(NAME)
    assert after is not None
    assert after.term > term
    assert is_executed(ledger, RUN)


def test_a_pid_that_another_process_has_now_is_a_dead_holder(ledger: Ledger) -> None:
    held_by(ledger, f"{os.getppid()}-{int(started(os.getppid())) + 1}-abcd")
    assert not is_executed(ledger, RUN)
    RunLease(ledger, RUN)


def test_an_expired_lease_is_taken_even_from_the_living(ledger: Ledger) -> None:
    held_by(ledger, living(), ttl_s=-1.0)
    assert not is_executed(ledger, RUN)
    RunLease(ledger, RUN)


def test_who_was_robbed_finds_out_when_renewing(ledger: Ledger) -> None:
    lease = RunLease(ledger, RUN)
    now = time.monotonic()
    lease.renew(now + 100.0)
    held = ledger.lease(NAME)
    assert held is not None
    ledger.release(NAME, held.holder, held.term)
    held_by(ledger, living())
    lease.renew(now + 101.0)  # too early to ask again
    with pytest.raises(Superseded, match="another process leads run"):
        lease.renew(now + 200.0)


def test_the_robbed_cannot_give_back_what_is_anothers(ledger: Ledger) -> None:
    lease = RunLease(ledger, RUN)
    held = ledger.lease(NAME)
    assert held is not None
    ledger.release(NAME, held.holder, held.term)
    held_by(ledger, living())
    lease.release()
    assert is_executed(ledger, RUN)


def test_runs_have_leases_of_their_own(ledger: Ledger) -> None:
    held_by(ledger, living())
    RunLease(ledger, "digits-ffffff")
