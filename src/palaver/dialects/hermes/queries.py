"""The queries that Hermes' documentation prints for its file, answered from a store: the same columns and rows.

Each takes what its SQL takes, and gives a list of rows as dicts in the order of the columns. Where the SQL leaves the
order of equal rows open, ours is that of the file which `exporting` writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ...errors import SessionNotFound
from ...numbered import NumberedRows, SummaryRow
from ...session import Session
from ...store import Store
from .exporting import counts
from .message_rows import of_store
from .rows import Row
from .stored_rows import StoredRow, rows_of
from .stored_session import session_row, title_of

_PREVIEW = 63  # characters


def ancestors(store: Store, session_id: str) -> list[Row]:
    """A session and all that it came from, nearest first."""
    rows, found = of_store(store), _session(store, session_id)
    names = [] if found is None else [found.id, *found.ancestors()]
    return [_picked(row, "id", "title", "started_at", "parent_session_id") for row in _sessions(rows, names)]


def descendants(store: Store, session_id: str) -> list[Row]:
    """A session and all that came from it, nearest first."""
    rows, found = of_store(store), _session(store, session_id)
    names = [] if found is None else [found.id, *found.descendants()]
    return [_picked(row, "id", "title", "started_at") for row in _sessions(rows, names)]


def recent(store: Store, limit: int = 20) -> list[Row]:
    """The sessions that were begun last, with all their columns, what was first said in them, and when the last was."""
    rows = of_store(store)
    found = _summaries(rows)
    titles = _titles(found)
    shown = [session_row(rows, each) for each in found]
    first = sorted(range(len(shown)), key=lambda place: -shown[place]["started_at"])[:limit]
    return [_shown(rows, found[place], shown[place], titles) for place in first]


def tokens_by_model(store: Store) -> list[Row]:
    """What the sessions of each model used; the dearest model first."""
    by_model: dict[str, list[Row]] = {}
    for row in sorted(_sessions(of_store(store)), key=lambda row: str(row["model"])):
        if row["model"] is not None:
            by_model.setdefault(row["model"], []).append(row)
    found = [_total(model, rows) for model, rows in by_model.items()]
    return sorted(found, key=lambda row: _last_if_none(row["total_cost"]), reverse=True)


def highest_usage(store: Store, limit: int = 10) -> list[Row]:
    """The sessions that used the most tokens."""
    found = []
    for row in _sessions(of_store(store)):
        total = row["input_tokens"] + row["output_tokens"]
        picked = _picked(row, "id", "title", "model") | {"total_tokens": total}
        found.append(picked | {"estimated_cost_usd": row["estimated_cost_usd"]})
    return sorted(found, key=lambda row: -row["total_tokens"])[:limit]


def _total(model: str, rows: list[Row]) -> Row:
    costs = [row["estimated_cost_usd"] for row in rows if row["estimated_cost_usd"] is not None]
    found: Row = {"model": model, "session_count": len(rows)}
    found |= {"total_input": sum(row["input_tokens"] for row in rows)}
    found |= {"total_output": sum(row["output_tokens"] for row in rows)}
    return found | {"total_cost": math.fsum(costs) if costs else None}


def _last_if_none(cost: float | None) -> tuple[bool, float]:
    return cost is not None, cost or 0.0


def _shown(rows: NumberedRows, found: SummaryRow, row: Row, titles: dict[str, str | None]) -> Row:
    said = rows_of(rows, Session(rows.store, found.id))
    row |= counts(said) | {"title": titles[found.id]}
    times = [each.row["timestamp"] for each in said if isinstance(each.row.get("timestamp"), float | int)]
    return row | {"preview": _preview(said), "last_active": max(times, default=row["started_at"])}


def _preview(said: list[StoredRow]) -> str:
    """What the user said first, by the time that it has."""
    asked = [each.row for each in said if each.row["role"] == "user" and isinstance(each.row.get("content"), str)]
    first = min(asked, key=lambda row: row["timestamp"], default=None)
    content, _, _ = str(first["content"] if first else "").partition("\0")  # SQL's texts end there
    return content[:_PREVIEW]


# ---------------------------------------------------------------- sessions


def _session(store: Store, name: str) -> Session | None:
    try:
        return store.sessions.get(name)
    except SessionNotFound:
        return None


def _summaries(rows: NumberedRows) -> list[SummaryRow]:
    """All sessions, the oldest first."""
    return rows.summaries(roots=False, limit=-1)[::-1]


def _titles(found: Iterable[SummaryRow]) -> dict[str, str | None]:
    """As the file has them: a title is that of the oldest session which has it."""
    titles: dict[str, str | None] = {}
    taken = set[str | None]()
    for each in found:
        title = title_of(each)
        titles[each.id] = None if title in taken else title
        taken.add(title)
    return titles


def _sessions(rows: NumberedRows, wanted: list[str] | None = None) -> Iterator[Row]:
    """Rows of all sessions, or of those that are wanted, in that order."""
    found = _summaries(rows)
    by_id, titles = {each.id: each for each in found}, _titles(found)
    for session_id in by_id if wanted is None else wanted:
        if session_id in by_id:
            yield session_row(rows, by_id[session_id]) | {"title": titles[session_id]}


def _picked(row: Row, *columns: str) -> Row:
    return {column: row[column] for column in columns}
