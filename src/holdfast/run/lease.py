"""Who executes a run: one process at a time, by a lease in the ledger."""

import os
import secrets
import time
from pathlib import Path

from holdfast.engines.local import born
from holdfast.errors import LedgerError, RunError
from holdfast.faults import reached
from holdfast.ledger import Lease, Ledger

_TTL_S = 10.0


class Superseded(RunError):
    """Another process has the lease now; it leads the crew, and this process must leave everything as it is."""


class RunLease:
    """Held while a run is executed. A holder that is seen from here to be dead is not waited for."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger = ledger
        self._run = run
        self._name = f"run:{run}"
        self._holder = f"{os.getpid()}-{born(os.getpid())}-{secrets.token_hex(4)}.{here()}"
        self._asked_at = self._renewed_at = time.monotonic()
        self.term = self._take(run)
        reached("lease.taken")

    def renew(self, now: float) -> bool:
        """Called often. False while the ledger cannot be reached and another may have the lease by now.

        Raises Superseded when another process has it.
        """
        if now - self._asked_at >= _TTL_S / 3:
            self._asked_at = now
            try:
                mine = self._ledger.renew(self._name, self._holder, self.term, _TTL_S, time.time())
            except LedgerError:
                return now - self._renewed_at < _TTL_S
            if not mine:
                raise Superseded(
                    f"another process leads run {self._run} now; `holdfast attach {self._run}` watches it there"
                )
            self._renewed_at = now
            reached("lease.renewed")
        return now - self._renewed_at < _TTL_S

    def release(self) -> None:
        self._ledger.release(self._name, self._holder, self.term)

    def _take(self, run: str) -> int:
        lease = self._ledger.lease(self._name)
        if lease is not None and lease.holder and not _may_be_alive(lease.holder):
            self._ledger.release(self._name, lease.holder, lease.term)
        term = self._ledger.acquire(self._name, self._holder, _TTL_S, time.time())
        if term is None:
            raise RunError(_taken(run, lease.holder if lease else "?"))
        return term


def is_executed(ledger: Ledger, run: str) -> bool:
    """Whether a process executes the run that lives; or that may, since it cannot be seen from here."""
    lease = lease_of(ledger, run)
    return lease is not None and bool(lease.holder) and lease.expires > time.time() and _may_be_alive(lease.holder)


def lease_of(ledger: Ledger, run: str) -> Lease | None:
    """As it stands, held or not; none if the run was never executed."""
    return ledger.lease(f"run:{run}")


def may_live(lease: Lease, now: float, patience_s: float) -> bool:
    """Whether the holder is not proved dead, even if the lease has run out: its process may only be stopped.

    Of a holder that cannot be seen from here nothing is proved before the lease has been out for `patience_s`.
    """
    if not lease.holder:
        return False
    return _lives(lease.holder) if _is_seen(lease.holder) else now <= lease.expires + patience_s


def here() -> str:
    """Where a pid means what it means to this process: one boot of one machine, and one namespace of pids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
        # A process in a new namespace may still be shown the pids of the old one.
        if os.readlink("/proc/self") == str(os.getpid()):
            return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        pass
    return secrets.token_hex(8)  # a place that nobody else is at


def _taken(run: str, holder: str) -> str:
    process = f"run {run} is being executed by process {holder.split('-')[0]}"
    if not _is_seen(holder):
        return f"{process} of another container or host; if that is dead, try again in {_TTL_S:g} s"
    return f"{process}; watch it with `holdfast attach {run}`, or stop it first with `holdfast stop {run}`"


def _may_be_alive(holder: str) -> bool:
    return not _is_seen(holder) or _lives(holder)


def _is_seen(holder: str) -> bool:
    """Whether its pid is one of those that are seen from here; in another container the same pid is somebody else."""
    return holder.partition(".")[2] == here()


def _lives(holder: str) -> bool:
    pid, born_at, _ = holder.split("-")
    return born(int(pid)) == born_at
