"""The schema of a ledger file: made at once when new, migrated when old, refused when too new."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    inspect,
    select,
)

from holdfast.errors import LedgerError
from holdfast.ledger import tables
from holdfast.ledger.database import reading, writing

HEAD = "0001"  # revisions are numbered, so that text order is their order

# As Alembic itself would make it: stamping by hand keeps its import (250 ms) off the start of a new ledger.
_stamp = MetaData()
_version = Table(
    "alembic_version",
    _stamp,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def ensure(engine: Engine, path: Path) -> None:
    """Leaves the ledger at the head revision, or raises; safe when several processes open it at once."""
    with reading(engine) as connection:
        if revision(connection) == HEAD:
            return
    with _alone(path.with_suffix(".lock")):
        _bring_to_head(engine, path)


def revision(connection: Connection) -> str | None:
    """The revision a ledger is at: none for a new file, empty for one before the first revision."""
    if not inspect(connection).has_table(_version.name):
        return None
    return connection.scalar(select(_version.c.version_num)) or ""


def create(connection: Connection) -> None:
    """Makes all tables of an empty ledger and stamps them with the head revision."""
    tables.metadata.create_all(connection, checkfirst=False)
    _stamp.create_all(connection, checkfirst=False)
    connection.execute(_version.insert().values(version_num=HEAD))


def migrate(connection: Connection) -> None:
    """Runs the revisions that the ledger has not had yet, inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _bring_to_head(engine: Engine, path: Path) -> None:
    with reading(engine) as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")  # kept in the file from now on
    with writing(engine) as connection:
        found = revision(connection)
        if found is None:
            create(connection)
        elif found > HEAD:
            raise LedgerError(
                f"the ledger {path} is at revision {found}, newer than {HEAD}, the last this version knows; "
                "upgrade holdfast, or set HOLDFAST_HOME to another directory"
            )
        elif found < HEAD:
            migrate(connection)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    # Switching a file to WAL does not honour the busy timeout, so those who find it new must go one by one.
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
