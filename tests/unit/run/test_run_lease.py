"""One process executes a run; the dead are not waited for, and the living are not robbed."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.errors import RunError
from holdfast.ledger import Ledger
from holdfast.run.lease import RunLease, Superseded, here, is_executed, lease_of, may_live

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
    return f"{os.getppid()}-{started(os.getppid())}-abcd.{here()}"


def dead(at: str | None = None) -> str:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    return f"{pid}-12345-abcd.{here() if at is None else at}"


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
    held_by(ledger, f"{os.getppid()}-{int(started(os.getppid())) + 1}-abcd.{here()}")
    assert not is_executed(ledger, RUN)
    RunLease(ledger, RUN)


ELSEWHERE = ["another container", "another host", "a version that did not say"]


def elsewhere(where: str) -> str:
    boot, namespace = here().split(".")
    places = dict(zip(ELSEWHERE, [f"{boot}.{int(namespace) + 1}", f"{boot[::-1]}.{namespace}", ""], strict=True))
    return places[where]


@pytest.mark.parametrize("where", ELSEWHERE)
@pytest.mark.parametrize("holder", [dead, lambda at: f"{os.getppid()}-{started(os.getppid())}-abcd.{at}"])
def test_a_holder_that_is_not_seen_from_here_lives_until_its_lease_has_run_out(
    ledger: Ledger, where: str, holder: Callable[[str], str]
) -> None:
    """Whether there is a process with its pid here says nothing of it."""
    name = holder(elsewhere(where))
    term = held_by(ledger, name)
    assert is_executed(ledger, RUN)
    with pytest.raises(RunError, match="of another container or host; if that is dead, try again in 10 s"):
        RunLease(ledger, RUN)
    lease = lease_of(ledger, RUN)
    assert lease is not None
    assert (lease.holder, lease.term) == (name, term)
    assert may_live(lease, lease.expires + 5.0, 10.0)
    assert not may_live(lease, lease.expires + 15.0, 10.0)
    ledger.renew(NAME, name, term, -1.0, time.time())
    assert not is_executed(ledger, RUN)
    assert RunLease(ledger, RUN).term > term


HOLD = f"""
import sys
from pathlib import Path
from holdfast.ledger import Ledger
from holdfast.run.lease import RunLease, here
with Ledger.open(Path(sys.argv[1])) as ledger:
    RunLease(ledger, "{RUN}")
    print(here(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("shown", ["its own pids", "ours"])
def test_a_process_in_a_namespace_of_its_own_holds_the_lease(ledger: Ledger, shown: str) -> None:
    """A real one. With `ours` it is in the namespace, and looks at processes as they are seen outside."""
    enter = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    enter += ["--mount-proc"] if shown == "its own pids" else []
    if subprocess.run([*enter, "true"], capture_output=True).returncode:
        pytest.skip("namespaces of pids are not permitted here")
    command = [*enter, sys.executable, "-c", HOLD, str(ledger.home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            place = process.stdout.readline().strip()
            assert place
            assert place != here()
            lease = lease_of(ledger, RUN)
            assert lease is not None
            assert lease.holder.startswith("1-")
            assert is_executed(ledger, RUN)
            with pytest.raises(RunError, match="of another container or host"):
                RunLease(ledger, RUN)
        finally:
            process.stdin.close()


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
