import fcntl
import sqlite3
import subprocess
import sys

import pytest
from sqlalchemy import inspect

from holdfast.errors import LedgerError
from holdfast.ledger import Ledger, database, schema, tables
from holdfast.ledger.database import connect, reading, writing


def definitions(path):
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return sorted((kind, name, "".join(sql.split())) for kind, name, sql in rows)


def begin(path):
    """A ledger as it was before its first revision."""
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
        "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
    )
    connection.close()


def test_the_revisions_make_what_the_tables_say(tmp_path):
    (tmp_path / "made").mkdir()
    Ledger.open(tmp_path / "made").close()
    (tmp_path / "migrated").mkdir()
    begin(tmp_path / "migrated" / "ledger.db")
    Ledger.open(tmp_path / "migrated").close()
    made = definitions(tmp_path / "made" / "ledger.db")
    assert made == definitions(tmp_path / "migrated" / "ledger.db")
    assert {name for kind, name, _ in made if kind == "table"} >= set(tables.metadata.tables)


def test_head_is_the_last_revision(tmp_path):
    begin(tmp_path / "ledger.db")
    engine = connect(tmp_path / "ledger.db")
    with writing(engine) as connection:
        schema.migrate(connection)
        assert schema.revision(connection) == schema.HEAD
    engine.dispose()


def test_a_failed_migration_leaves_the_ledger_as_it_was(tmp_path):
    path = tmp_path / "ledger.db"
    begin(path)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE leases (in_the_way INTEGER)")
    connection.close()
    before = definitions(path)
    with pytest.raises(LedgerError, match="leases"):
        Ledger.open(tmp_path)
    assert definitions(path) == before


def test_a_newer_ledger_is_refused(tmp_path):
    Ledger.open(tmp_path).close()
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(LedgerError, match=r"at revision 9999, newer than .* upgrade holdfast"):
        Ledger.open(tmp_path)


def test_a_file_that_is_no_ledger_is_refused(tmp_path):
    (tmp_path / "ledger.db").write_text("certainly not a database, and long enough to tell" * 100)
    with pytest.raises(LedgerError, match=r"ledger\.db failed: file is not a database; move the file away"):
        Ledger.open(tmp_path)


def test_a_new_ledger_is_made_by_one_process_at_a_time(tmp_path, monkeypatch):
    locked = []

    def create(connection):
        with (tmp_path / "ledger.lock").open() as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                locked.append(True)
        schema_create(connection)

    schema_create = schema.create
    monkeypatch.setattr(schema, "create", create)
    Ledger.open(tmp_path).close()
    assert locked == [True]


def test_a_ledger_that_is_held_for_too_long_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0)
    with Ledger.open(tmp_path) as ledger, sqlite3.connect(tmp_path / "ledger.db") as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="database is locked; another process has held it"):
            ledger.acquire("captain", "a", ttl_s=1, now=0)
    other.close()


def test_a_lost_table_is_a_sentence(ledger):
    with sqlite3.connect(ledger.home / "ledger.db") as connection:
        connection.execute("DROP TABLE events")
    connection.close()
    with pytest.raises(LedgerError, match="no such table: events; see `holdfast doctor`"):
        ledger.events("any")


def test_the_file_is_in_wal_mode_and_keys_are_enforced(ledger):
    with reading(connect(ledger.home / "ledger.db")) as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert inspect(connection).has_table("runs")
        connection.engine.dispose()


def imported_by(code):
    listing = f"{code}; import sys; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_new_ledger_opens_without_alembic(tmp_path):
    opening = f"from holdfast.ledger import Ledger; Ledger.open(pathlib.Path({str(tmp_path)!r})).close()"
    modules = imported_by(f"import pathlib; {opening}")
    assert "sqlalchemy" in modules
    assert not modules & {"alembic", "torch", "numpy", "pydantic"}


def test_checkpoints_and_curves_need_only_the_standard_library():
    modules = imported_by("from holdfast.ledger import checkpoints, curves")
    assert not modules & {"sqlalchemy", "alembic", "torch", "numpy", "pydantic"}
