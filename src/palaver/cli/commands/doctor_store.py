"""What `palaver doctor` asks of an open store, whatever holds it; and what a finding is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver import Store

from ..ui.format import count


class Finding(NamedTuple):
    """One thing looked at. `todo` says what to do; empty: nothing, it is well."""

    check: str
    what: str
    todo: str = ""


def counted(store: Store) -> Finding:
    listed = value_of(store, "SELECT count(*) FROM chat_sessions")
    turns = value_of(store, "SELECT count(*) FROM turns")
    return Finding("sessions", f"{count(listed, 'session')}, {count(turns, 'turn')}")


def value_of(store: Store, query: str) -> Any:
    _, rows = store.db.query(query)
    (value,) = next(rows)
    return value


def open_turns(store: Store) -> Finding:
    _, rows = store.db.query("SELECT status, count(*) FROM turns WHERE sealed_at IS NULL GROUP BY 1 ORDER BY 1")
    found = [f"{number} {status}" for status, number in rows]
    return Finding("open turns", ", ".join(found) or "none")


def set_aside(store: Store) -> Iterator[Finding]:
    """Turns of dead writers that could not be sealed."""
    query = "SELECT session_id, id FROM turns WHERE sealed_at IS NOT NULL AND digest IS NULL ORDER BY id LIMIT 20"
    _, rows = store.db.query(query)
    for session_id, turn_id in rows:
        what = f"turn {turn_id} of session {session_id} could not be sealed, and was set aside"
        yield Finding("set aside", what, "`palaver verify` says why; its rows are kept")


def loose(store: Store) -> Finding:
    query = """SELECT count(DISTINCT m.session_id) FROM chat_messages m
                WHERE NOT EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
                  AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.copy_id = m.id)"""
    number = value_of(store, query)
    if not number:
        return Finding("loose rows", "none: every row has its turn")
    return Finding("loose rows", f"another program wrote to {count(number, 'session')}", "run `palaver adopt`")
