"""How a transaction ended whose answer was lost. The server remembers it by its number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from ...clock import monotonic, now_ms
from ...errors import StoreError
from ..database import Row
from .pipeline import Pipeline, Step
from .pool import LIFE

if TYPE_CHECKING:
    from .engine import PostgresDatabase

_STATUS = f"SELECT pg_xact_status(%s::text::xid8), ({LIFE})"


def outcome_of(db: PostgresDatabase, number: str, life: str) -> str | None:
    """committed or aborted; None: the server cannot say. After a crash (`life` is another) a number that was lost with
    it may be somebody else's."""
    deadline = monotonic() + db.timeout
    while True:
        status, now = _status_of(db, number)
        if status == "committed":
            return status if now == life else None
        if status != "in progress" or monotonic() > deadline:
            return "aborted" if status == "aborted" else None
        db.pool.nap(0.02)


def _status_of(db: PostgresDatabase, number: str) -> tuple[str | None, str | None]:
    try:
        with db.pool.connect() as connection:
            row = connection.execute(_STATUS.encode(), (number,)).fetchone()
            if row is not None and row[0] == "committed":
                _confirm(db, connection)
    except psycopg.errors.InvalidParameterValue:  # a number that is yet to be given out: the crash took ours
        return "aborted", None
    except (psycopg.Error, StoreError):
        return "in progress", None
    return (row[0], row[1]) if row is not None else (None, None)


def _confirm(db: PostgresDatabase, connection: psycopg.Connection[Row]) -> None:
    """Committed is what the server says of its own disk. Standbys that are to confirm a commit confirm this one, which
    comes later, and with it everything before."""
    note = (
        f'INSERT INTO "{db.schema}".settings (name, value) VALUES ($1, $2)'
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    )
    steps: list[Step] = [("BEGIN", ()), db.settings("on"), (note, ("confirmed", str(now_ms()))), ("COMMIT", ())]
    Pipeline(connection, prepares=False, life="").send(steps, db.timeout)
