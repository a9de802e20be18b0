"""Alembic's entry: runs the revisions in the transaction that `schema.migrate` hands over."""

from alembic import context

# The caller's transaction covers all revisions: if one fails, the ledger is left as it was.
context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
