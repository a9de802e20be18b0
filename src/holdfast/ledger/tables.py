"""The tables of the ledger. A change here needs a new revision in migrations/; a test compares the two."""

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

runs = Table(
    "runs",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("status", String, nullable=False),
    Column("job", JSON, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("environment", JSON, nullable=False),
    Column("created", Float, nullable=False),
    Column("started", Float),
    Column("ended", Float),
    Column("workers", Integer, nullable=False),
    Column("steps_done", Integer, nullable=False),
    Column("steps_total", Integer, nullable=False),
    Column("result", JSON(none_as_null=True)),
    Column("error", Text),
    Column("pid", Integer),
    CheckConstraint(
        "status IN ('starting', 'running', 'paused', 'finished', 'failed', 'stopped', 'lost')",
        name="runs_status",
    ),
    Index("runs_by_created", "created"),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", String, ForeignKey("runs.id"), nullable=False),
    Column("time", Float, nullable=False),
    Column("step", Integer),
    Column("kind", String, nullable=False),
    Column("worker", Integer),
    Column("text", Text, nullable=False),
    Column("detail", JSON(none_as_null=True)),
    Index("events_by_run", "run", "id"),
    sqlite_autoincrement=True,  # an id is never used twice, so "after id n" misses nothing
)

metrics = Table(
    "metrics",
    metadata,
    Column("run", String, ForeignKey("runs.id"), primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("name", String, primary_key=True),
    Column("value", Float),  # SQLite keeps NaN as null, and -0.0 as 0.0
    sqlite_with_rowid=False,
)

leases = Table(
    "leases",
    metadata,
    Column("name", String, primary_key=True),
    Column("holder", String, nullable=False),
    Column("term", Integer, nullable=False),
    Column("expires", Float, nullable=False),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("run", String, ForeignKey("runs.id"), primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("path", String, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("time", Float, nullable=False),
    Column("sha256", String, nullable=False),
    Column("status", String, nullable=False),
    CheckConstraint("status IN ('whole', 'bad')", name="checkpoints_status"),
)
