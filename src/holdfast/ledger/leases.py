"""Leases with fencing terms: each change is one compare-and-swap statement, so two holders cannot both win.

A lease's row is never deleted: its term must go on rising, or a message of an old holder could pass for new.
"""

from sqlalchemy import Connection, case, or_, update
from sqlalchemy.dialects.sqlite import insert

from holdfast.ledger.tables import leases

_NOBODY = ""


def acquire(connection: Connection, name: str, holder: str, ttl_s: float, now: float) -> int | None:
    """The term under which `holder` now has the lease, or none while another has it."""
    wish = insert(leases).values(name=name, holder=holder, term=1, expires=now + ttl_s)
    changes_hands = leases.c.holder != wish.excluded.holder
    statement = wish.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={
            "term": leases.c.term + case((changes_hands, 1), else_=0),
            "holder": wish.excluded.holder,
            "expires": wish.excluded.expires,
        },
        where=or_(~changes_hands, leases.c.expires <= now),
    )
    term: int | None = connection.scalar(statement.returning(leases.c.term))
    return term


def renew(connection: Connection, name: str, holder: str, term: int, ttl_s: float, now: float) -> bool:
    """Extends the lease if it is still the holder's; late is not too late if nobody came in between."""
    return _swap(connection, name, holder, term, holder, now + ttl_s)


def release(connection: Connection, name: str, holder: str, term: int) -> bool:
    """Gives the lease up at once; false if it was no longer the holder's."""
    return _swap(connection, name, holder, term, _NOBODY, 0.0)


def _swap(connection: Connection, name: str, holder: str, term: int, next_holder: str, expires: float) -> bool:
    held = (leases.c.name == name, leases.c.holder == holder, leases.c.term == term)
    statement = update(leases).where(*held).values(holder=next_holder, expires=expires)
    return connection.execute(statement).rowcount == 1
