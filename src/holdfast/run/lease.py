"""Who executes a run: one process at a time, by a lease in the ledger."""

import os
import secrets
import time
from pathlib import Path

from holdfast.errors import RunError
from holdfast.ledger import Ledger

_TTL_S = 10.0


class RunLease:
    """Held while a run is executed. A holder that died on this machine is not waited for."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger = ledger
        self._name = f"run:{run}"
        self._holder = f"{os.getpid()}-{_started(os.getpid())}-{secrets.token_hex(4)}"
        self._renewed_at = time.monotonic()
        self._term = self._take(run)

    def renew(self, now: float) -> None:
        """Called often; raises RunError when another process has taken the run over."""
        if now - self._renewed_at < _TTL_S / 3:
            return
        self._renewed_at = now
        if not self._ledger.renew(self._name, self._holder, self._term, _TTL_S, time.time()):
            raise RunError("another process has taken this run over, so this one stops")

    def release(self) -> None:
        self._ledger.release(self._name, self._holder, self._term)

    def _take(self, run: str) -> int:
        lease = self._ledger.lease(self._name)
        if lease is not None and lease.holder and not _lives(lease.holder):
            self._ledger.release(self._name, lease.holder, lease.term)
        term = self._ledger.acquire(self._name, self._holder, _TTL_S, time.time())
        if term is None:
            raise RunError(
                f"run {run} is being executed by process {(lease.holder if lease else '?').split('-')[0]}; "
                f"watch it with `holdfast events {run}`, or stop it first with `holdfast stop {run}`"
            )
        return term


def is_executed(ledger: Ledger, run: str) -> bool:
    """Whether a living process executes the run."""
    lease = ledger.lease(f"run:{run}")
    return lease is not None and bool(lease.holder) and lease.expires > time.time() and _lives(lease.holder)


def _lives(holder: str) -> bool:
    pid, started, _ = holder.split("-")
    return _started(int(pid)) == started


def _started(pid: int) -> str:
    """When the process began, in ticks since boot: with the pid it names one process for good."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return "gone"
