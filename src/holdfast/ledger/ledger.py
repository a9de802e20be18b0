"""The ledger: every question and every note that the rest of the house has for the database."""

import itertools
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from sqlalchemy import Connection, Engine, Select, Table, delete, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from holdfast.errors import LedgerError
from holdfast.ledger import leases, naming, schema, tables
from holdfast.ledger.checkpoints import CheckpointInfo
from holdfast.ledger.database import connect, reading, writing
from holdfast.ledger.place import home as default_home
from holdfast.ledger.place import prepare
from holdfast.ledger.rows import CheckpointRow, CheckpointStatus, Event, Lease, Metric, Run, RunChange

Row = TypeVar("Row")


class Ledger:
    """What is remembered about runs; any number of processes and threads may have it open at once.

    Each method is one transaction. Every failure of the database reaches the caller as a LedgerError.
    """

    def __init__(self, engine: Engine, home: Path, clock: Callable[[], float]) -> None:
        self.home = home
        self._engine = engine
        self._clock = clock

    @classmethod
    def open(cls, home: Path | None = None, clock: Callable[[], float] = time.time) -> Self:
        """Opens the ledger in `home`, made or migrated first if it must be."""
        place = prepare(home or default_home())
        path = place / "ledger.db"
        engine = connect(path)
        try:
            schema.ensure(engine, path)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, place, clock)

    def close(self) -> None:
        """Closes all connections; the ledger must not be used afterwards."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Runs

    def create_run(
        self,
        name: str,
        *,
        job: dict[str, Any],
        fingerprint: str,
        environment: dict[str, Any],
        workers: int,
        steps_total: int,
        pid: int | None = None,
    ) -> Run:
        """Notes a new run with the status `starting`; its id is made from its name and the time."""
        now = self._clock()
        with writing(self._engine) as connection:
            run = Run(
                id=_free_id(connection, name, now),
                name=name,
                status="starting",
                job=job,
                fingerprint=fingerprint,
                environment=environment,
                created=now,
                started=None,
                ended=None,
                workers=workers,
                steps_done=0,
                steps_total=steps_total,
                result=None,
                error=None,
                pid=pid,
            )
            connection.execute(insert(tables.runs).values(_columns(run, tables.runs)))
        return run

    def update_run(self, run: str, **change: Unpack[RunChange]) -> None:
        """Changes fields of the run with exactly this id."""
        statement = update(tables.runs).where(tables.runs.c.id == run).values(**change)
        with writing(self._engine) as connection:
            if connection.execute(statement).rowcount == 0:
                raise LedgerError(naming.unknown(run, _ids(connection)))

    def run(self, ref: str) -> Run:
        """The run of this id, of the only id that begins so, or the newest if `ref` is `last`."""
        if ref == "last":
            return self._last()
        fits = self._rows(Run, _newest_runs().where(tables.runs.c.id.startswith(ref, autoescape=True)))
        exact = [run for run in fits if run.id == ref]
        if len(exact or fits) == 1:
            return (exact or fits)[0]
        if fits:
            raise LedgerError(naming.ambiguous(ref, [run.id for run in fits]))
        with reading(self._engine) as connection:
            raise LedgerError(naming.unknown(ref, _ids(connection)))

    def runs(self, limit: int | None = None) -> list[Run]:
        """The runs, newest first."""
        return self._rows(Run, _newest_runs().limit(limit))

    # Events and metrics

    def add_event(
        self,
        run: str,
        kind: str,
        text: str,
        *,
        step: int | None = None,
        worker: int | None = None,
        detail: dict[str, Any] | None = None,
        at: float | None = None,
    ) -> int:
        """Notes that something happened, now if not said otherwise, and gives the event's id."""
        values = {
            "run": run,
            "time": self._clock() if at is None else at,
            "step": step,
            "kind": kind,
            "worker": worker,
            "text": text,
            "detail": detail,
        }
        with writing(self._engine) as connection:
            return connection.execute(insert(tables.events).values(values)).lastrowid

    def events(self, run: str, after_id: int = 0) -> list[Event]:
        """The events of a run in the order they were noted, from the one after `after_id`."""
        table = tables.events
        wanted = select(table).where(table.c.run == run, table.c.id > after_id).order_by(table.c.id)
        return self._rows(Event, wanted)

    def add_metrics(self, run: str, rows: Iterable[tuple[int, str, float]]) -> None:
        """Notes (step, name, value) points; a point noted before takes the new value."""
        points = [{"run": run, "step": step, "name": name, "value": value} for step, name, value in rows]
        if points:
            with writing(self._engine) as connection:
                connection.execute(_replacing(tables.metrics), points)

    def metrics(self, run: str, name: str | None = None) -> list[Metric]:
        """The points of a run's curves, or of one of them, in the order of steps."""
        table = tables.metrics
        wanted = select(table.c.step, table.c.name, table.c.value).where(table.c.run == run)
        if name is not None:
            wanted = wanted.where(table.c.name == name)
        with reading(self._engine) as connection:
            points = connection.execute(wanted.order_by(table.c.step, table.c.name))
            return [Metric(step, key, math.nan if value is None else value) for step, key, value in points]

    # Checkpoints

    def record_checkpoint(self, run: str, info: CheckpointInfo, status: CheckpointStatus = "whole") -> None:
        """Notes a checkpoint, or its new status; there is one for each step of a run."""
        values = {
            "run": run,
            "step": info.step,
            "path": str(info.path),
            "bytes": info.bytes,
            "time": info.time,
            "sha256": info.sha256,
            "status": status,
        }
        with writing(self._engine) as connection:
            connection.execute(_replacing(tables.checkpoints), values)

    def checkpoints(self, run: str) -> list[CheckpointRow]:
        """The checkpoints noted for a run, newest first."""
        table = tables.checkpoints
        wanted = select(table).where(table.c.run == run).order_by(table.c.step.desc())
        return self._rows(CheckpointRow, wanted)

    def drop_checkpoint(self, run: str, step: int) -> None:
        """Forgets a checkpoint whose files are gone; no matter if it was not known."""
        table = tables.checkpoints
        with writing(self._engine) as connection:
            connection.execute(delete(table).where(table.c.run == run, table.c.step == step))

    # Leases

    def acquire(self, name: str, holder: str, ttl_s: float, now: float) -> int | None:
        """The term under which `holder` has the lease until `now + ttl_s`, or none while another has it.

        The term rises whenever the holder changes. A holder must be one process for one life: a restarted one
        that came back under the same name would be taken for the one before.
        """
        with writing(self._engine) as connection:
            return leases.acquire(connection, name, holder, ttl_s, now)

    def renew(self, name: str, holder: str, term: int, ttl_s: float, now: float) -> bool:
        """Extends a lease to `now + ttl_s`; false means it is lost, and the holder must stop acting."""
        with writing(self._engine) as connection:
            return leases.renew(connection, name, holder, term, ttl_s, now)

    def release(self, name: str, holder: str, term: int) -> bool:
        """Gives a lease up, so that the next can have it at once; false if it was lost before."""
        with writing(self._engine) as connection:
            return leases.release(connection, name, holder, term)

    def lease(self, name: str) -> Lease | None:
        """The lease as it stands, expired or not; none if it was never held."""
        found = self._rows(Lease, select(tables.leases).where(tables.leases.c.name == name))
        return found[0] if found else None

    def _last(self) -> Run:
        newest = self.runs(limit=1)
        if not newest:
            raise LedgerError("there is no run yet; `holdfast run JOB` makes the first")
        return newest[0]

    def _rows(self, kind: type[Row], wanted: Select[Any]) -> list[Row]:
        with reading(self._engine) as connection:
            return [kind(**row) for row in connection.execute(wanted).mappings()]


def _newest_runs() -> Select[Any]:
    return select(tables.runs).order_by(tables.runs.c.created.desc(), tables.runs.c.id.desc())


def _ids(connection: Connection) -> list[str]:
    return list(connection.scalars(select(tables.runs.c.id)))


def _free_id(connection: Connection, name: str, now: float) -> str:
    taken = set(_ids(connection))
    candidates = (naming.run_id(name, now, bump) for bump in itertools.count())
    return next(one for one in candidates if one not in taken)


def _columns(row: object, table: Table) -> dict[str, Any]:
    return {column.name: getattr(row, column.name) for column in table.columns}


def _replacing(table: Table) -> Any:
    """An insert that overwrites the row of the same primary key."""
    statement = upsert(table)
    rest = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=rest)
