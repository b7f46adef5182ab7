"""Trimming: the chunks of a turn go some time after its seal, when whoever followed it has read them.

Its parts hold all that they said. What else happened to the session stays; `events_floor` says up to where chunks may
be missing, so that a reader with an older cursor is told to start again.
"""

from __future__ import annotations

from ..db.database import Tx
from ..db.queries import Q

SLICE = 5_000  # chunks that go in one transaction


def due(tx: Tx, before: int, limit: int = 1_000) -> list[tuple[str, str, int]]:
    """(session, turn, begin_seq) of turns that were sealed before a time and still have their chunks."""
    return [(row[0], row[1], row[2]) for row in tx.all(Q.turns_to_trim, before=before, limit=limit)]


def trim_some(tx: Tx, turns: list[tuple[str, str, int]]) -> int:
    """Trim the first of these turns, about a slice of chunks in all; those that are done leave the list."""
    gone = 0
    while turns and gone < SLICE:
        count = _trim(tx, *turns[0])
        gone += count
        if count < SLICE:
            del turns[0]
    return gone


def _trim(tx: Tx, session_id: str, turn_id: str, begin_seq: int) -> int:
    """Take away the next slice of a sealed turn's chunks; how many went. Fewer than a slice: it is done."""
    row = tx.one(Q.chunks_to_trim, session=session_id, begin_seq=begin_seq, limit=SLICE)
    upto, count = row if row else (None, 0)
    if count:
        tx.later(Q.trim_chunks, session=session_id, begin_seq=begin_seq, upto=upto)
        tx.later(Q.raise_floor, session=session_id, floor=upto)
    if count < SLICE:
        tx.later(Q.set_trimmed, turn=turn_id)
    return int(count)
