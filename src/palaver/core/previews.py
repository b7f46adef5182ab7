"""The preview of a session: the first thing the user said in it; a fork keeps its origin's."""

from __future__ import annotations

from .. import canonical
from ..db.database import Tx
from ..db.queries import Q
from ..errors import BadValue
from . import refs

LENGTH = 200


def shorten(text: str | None) -> str | None:
    """One line, no control characters, fit for a column."""
    if text is None:
        return None
    line = " ".join(text[: 4 * LENGTH].split())[:LENGTH]
    if not line.isprintable():  # surrogates are not printable either
        line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line or None


def recompute(tx: Tx, session_id: str) -> str | None:
    """The truth that heads.preview is a copy of."""
    head = tx.one(Q.read_head, session=session_id)
    if head and head[6] == "fork" and head[7] and refs.nearest_user_message(tx, head[8])[0]:
        origin = tx.one(Q.read_head, session=head[7])  # whose own preview is compared with its own truth
        if origin and origin[10] is not None:
            return str(origin[10])
    for _, data in tx.all(Q.first_words, session=session_id):
        try:
            part = canonical.parse(data)
        except BadValue:  # verify names it
            continue
        words = part.get("text") if isinstance(part, dict) else None
        if isinstance(words, str) and words.strip():
            return shorten(words)
    return None
