"""A session of ours as it goes into a file: its row of Hermes' `sessions`, with what later versions know of it."""

from __future__ import annotations

from typing import Any

from ...numbered import NumberedRows, SummaryRow
from ...session import Session
from . import titles
from .growth import GROWN
from .rows import SESSION_COLUMNS, Row
from .session_columns import COMPACTED, DIGEST, IMPORTED, MODEL_USAGE, OURS, PROMPT, kept, text
from .session_rows import metadata, session_rows

_INTERNAL = {DIGEST, PROMPT, MODEL_USAGE, COMPACTED, f"{COMPACTED}_active", IMPORTED, GROWN, *SESSION_COLUMNS}


def session_row(rows: NumberedRows, found: SummaryRow) -> Row:
    """Its columns, those of later versions last. Its counts and its title are the file's to know."""
    session, ours = Session(rows.store, found.id), kept(metadata(found), OURS)
    (row,) = session_rows(rows, [found])
    if row[PROMPT] is None and PROMPT not in ours:
        row[PROMPT] = _newest_prompt(rows, session)
    later: dict[str, Any] = {name: value for name, value in ours.items() if name not in _INTERNAL}
    return row | later | ({"archived": 1} if session.info.archived_at is not None else {})


def title_of(found: SummaryRow) -> str | None:
    """As Hermes would have it; None: it has none that Hermes would take."""
    given = found.title if found.title is not None else text(kept(metadata(found), OURS), "title")
    try:
        return titles.sanitized(given)
    except ValueError:
        return None


def _newest_prompt(rows: NumberedRows, session: Session) -> str | None:
    """Of a session that says none itself: that of its newest turn which has one."""
    digest = next((turn.system_prompt for turn in reversed(session.path()) if turn.system_prompt), None)
    return None if digest is None else rows.store.system_prompt(digest)
