"""The preview of a session: the first thing the user said in it; a fork keeps its origin's."""

from __future__ import annotations

from collections.abc import Iterable

from ...base import exact_json
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue
from ..turn.message_input import NewMessage

LENGTH = 200


def of(messages: Iterable[NewMessage]) -> str | None:
    """What messages give for a preview: the first words of a user in them."""
    words = (message.text for message in messages if message.role == "user")
    return shorten(next((text for text in words if text), None))


def put(tx: Tx, session_id: str, messages: Iterable[NewMessage]) -> None:
    """The preview of a session that has none yet."""
    words = of(messages)
    if words is not None:
        tx.defer(Q.set_preview, session=session_id, preview=words)


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
    head = tx.one(Q.read_head, session=session_id)
    if head and head[6] == "fork" and head[10] is not None:
        return str(head[10])
    for _, data in tx.all(Q.first_words, session=session_id):
        try:
            part = exact_json.parse(data)
        except BadValue:  # verify names it
            continue
        words = part.get("text") if isinstance(part, dict) else None
        if isinstance(words, str) and words.strip():
            return shorten(words)
    return None
