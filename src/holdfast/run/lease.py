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
    """Held while a run is executed. A holder that died on this machine is not waited for."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger = ledger
        self._run = run
        self._name = f"run:{run}"
        self._holder = f"{os.getpid()}-{born(os.getpid())}-{secrets.token_hex(4)}.{_here()}"
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
        if lease is not None and lease.holder and not _lives(lease.holder):
            self._ledger.release(self._name, lease.holder, lease.term)
        term = self._ledger.acquire(self._name, self._holder, _TTL_S, time.time())
        if term is None:
            raise RunError(
                f"run {run} is being executed by process {(lease.holder if lease else '?').split('-')[0]}; "
                f"watch it with `holdfast attach {run}`, or stop it first with `holdfast stop {run}`"
            )
        return term


def is_executed(ledger: Ledger, run: str) -> bool:
    """Whether a living process executes the run."""
    lease = lease_of(ledger, run)
    return lease is not None and bool(lease.holder) and lease.expires > time.time() and _lives(lease.holder)


def lease_of(ledger: Ledger, run: str) -> Lease | None:
    """As it stands, held or not; none if the run was never executed."""
    return ledger.lease(f"run:{run}")


def may_live(lease: Lease, now: float, patience_s: float) -> bool:
    """Whether the holder is not proved dead, even if the lease has run out: its process may only be stopped.

    Of a holder that cannot be seen from here nothing is proved before the lease has been out for `patience_s`.
    """
    if not lease.holder:
        return False
    is_seen = lease.holder.endswith(f".{_here()}")
    return _lives(lease.holder) or not (is_seen or lease.expires + patience_s < now)


def _lives(holder: str) -> bool:
    pid, born_at, _ = holder.split("-")
    return born(int(pid)) == born_at


def _here() -> str:
    """Where a pid means what it means to this process: one boot of one machine, and one namespace of pids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
        return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return secrets.token_hex(8)  # a place that nobody else is at
