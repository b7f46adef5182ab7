"""The preview of a session: the first thing the user said in its transcript; a fork keeps its origin's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ...base import exact_json
from ...db.engine import Tx
from ...db.queries import Q, Query
from ...errors import BadValue
from .. import rows


class Spoken(Protocol):
    """A message to be, as far as a preview looks at it."""

    @property
    def role(self) -> str: ...

    @property
    def text(self) -> str | None: ...


LENGTH = 200


def of(messages: Iterable[Spoken]) -> str | None:
    """What messages give for a preview: the first words of a user in them."""
    words = (message.text for message in messages if message.role == "user")
    return shorten(next((text for text in words if text), None))


def shorten(text: str | None) -> str | None:
    """One line, no control characters, fit for a column."""
    if text is None:
        return None
    line = " ".join(text[: 4 * LENGTH].split())[:LENGTH]
    if not line.isprintable():  # surrogates are not printable either
        line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line or None


def recompute(tx: Tx, session_id: str) -> str | None:
    """The truth that heads.preview is a copy of. What a fork was given by its origin is a fact of its own."""
    head = rows.head.one(tx, session=session_id)
    if head is not None and head.relation == "fork" and head.preview is not None:
        return head.preview
    return _first(tx, Q.first_words_shown, session_id) or ever_said(tx, session_id)


def ever_said(tx: Tx, session_id: str) -> str | None:
    """The first thing the user ever said, also where it was replaced since: what a preview was before edits counted."""
    return _first(tx, Q.first_words, session_id)


def _first(tx: Tx, query: Query, session_id: str) -> str | None:
    for _, data in tx.all(query, session=session_id):
        try:
            part = exact_json.parse(data)
        except BadValue:  # verify names it
            continue
        words = part.get("text") if isinstance(part, dict) else None
        if isinstance(words, str) and words.strip():
            return shorten(words)
    return None
