"""One SQLite file, opened so that several processes and threads can share it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, IntegrityError

from holdfast.errors import LedgerError

BUSY_TIMEOUT_S = 30.0

_ADVICE = (
    ("locked", "another process has held it for too long; look for a hung `holdfast` and try again"),
    ("full", "free some space on its disk"),
    ("readonly", "make it writable, or set HOLDFAST_HOME to a writable directory"),
    ("malformed", "move the file away to begin a new ledger"),
    ("not a database", "move the file away to begin a new ledger"),
)


def connect(path: Path) -> Engine:
    """An engine whose connections begin no transaction by themselves; `writing` begins them."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": BUSY_TIMEOUT_S, "isolation_level": None},
    )
    event.listen(engine, "connect", _set_up)
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection for select statements, each of which sees the newest commit."""
    with _told(engine), engine.connect() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction with the write lock from its beginning: what it reads cannot change under it."""
    with _told(engine), engine.begin() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


def _set_up(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    # Under WAL this survives any crash of a process. A power cut may lose the last commits, never the file:
    # the processes that knew of them are then gone too.
    connection.execute("PRAGMA synchronous = NORMAL")


@contextmanager
def _told(engine: Engine) -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise  # a mistake in our code, not the user's
    except DatabaseError as error:
        said = str(error.orig)
        advice = next((what for word, what in _ADVICE if word in said), "see `holdfast doctor`")
        raise LedgerError(f"the ledger {engine.url.database} failed: {said}; {advice}") from error
