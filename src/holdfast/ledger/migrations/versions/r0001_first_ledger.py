"""The first ledger. A revision is history: it never imports today's tables, and it is never edited."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _create_runs()
    _create_events()
    _create_metrics()
    _create_leases()
    _create_checkpoints()


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("job", sa.JSON, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("environment", sa.JSON, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("started", sa.Float),
        sa.Column("ended", sa.Float),
        sa.Column("workers", sa.Integer, nullable=False),
        sa.Column("steps_done", sa.Integer, nullable=False),
        sa.Column("steps_total", sa.Integer, nullable=False),
        sa.Column("result", sa.JSON),
        sa.Column("error", sa.Text),
        sa.Column("pid", sa.Integer),
        sa.CheckConstraint(
            "status IN ('starting', 'running', 'paused', 'finished', 'failed', 'stopped', 'lost')",
            name="runs_status",
        ),
    )
    op.create_index("runs_by_created", "runs", ["created"])


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run", sa.String, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("time", sa.Float, nullable=False),
        sa.Column("step", sa.Integer),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("worker", sa.Integer),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("detail", sa.JSON),
        sqlite_autoincrement=True,
    )
    op.create_index("events_by_run", "events", ["run", "id"])


def _create_metrics() -> None:
    op.create_table(
        "metrics",
        sa.Column("run", sa.String, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("value", sa.Float),
        sqlite_with_rowid=False,
    )


def _create_leases() -> None:
    op.create_table(
        "leases",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("holder", sa.String, nullable=False),
        sa.Column("term", sa.Integer, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
    )


def _create_checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("run", sa.String, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("path", sa.String, nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("time", sa.Float, nullable=False),
        sa.Column("sha256", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.CheckConstraint("status IN ('whole', 'bad')", name="checkpoints_status"),
    )
