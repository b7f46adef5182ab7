"""Trimming: the chunks of a turn go some time after its seal, when whoever followed it has read them.

Its parts hold all that they said. What else happened to the session stays; `events_floor` says up to where chunks may
be missing, so that a reader with an older cursor is told to start again.

A turn's chunks lie between its first event and what sealed it: a line of the reflog, or the event of a stray. So a trim
walks from there to there, from one line of the reflog to the next, and never to the end of a long session. It works in
slices, each a transaction of a few milliseconds: whoever waits to write goes first.
"""

from __future__ import annotations

from ...db.engine import Tx
from ...db.queries import Q
from . import records

SLICE = 1_000  # events that one transaction looks at
_BYTES = 256 << 10  # and what they may hold: to take a large value away, each of its pages is read
_NEVER = 1 << 62  # after every number


class Due:
    """A sealed turn that still has chunks, and up to which number they are gone."""

    __slots__ = ("begin_seq", "gone_to", "is_done", "session_id", "turn_id")

    def __init__(self, session_id: str, turn_id: str, begin_seq: int) -> None:
        self.session_id = session_id
        self.turn_id = turn_id
        self.begin_seq = self.gone_to = begin_seq
        self.is_done = False


class _Room:
    """What a slice may still look at."""

    def __init__(self) -> None:
        self.events, self.bytes = SLICE, _BYTES

    def is_left(self) -> bool:
        return self.events > 0 and self.bytes > 0

    def fill(self, events: list[records.EventSizeRow]) -> list[records.EventSizeRow]:
        """As many of these as there is room for."""
        for count, event in enumerate(events):
            if not self.is_left():
                return events[:count]
            self.events -= 1
            self.bytes -= event.size
        return events


def due(tx: Tx, before: int, limit: int = 100) -> list[Due]:
    """Turns that were sealed before a time and still have their chunks."""
    found = records.turns_to_trim.all(tx, before=before, limit=limit)
    return [Due(turn.session_id, turn.id, turn.begin_seq) for turn in found]


def trim_some(tx: Tx, turns: list[Due]) -> int:
    """One slice: trim the first of these turns; how many chunks went. Those that are done leave the list."""
    gone, room = 0, _Room()
    while turns and room.is_left():
        gone += _trim(tx, turns[0], room)
        if turns[0].is_done:
            del turns[0]
    return gone


def _trim(tx: Tx, turn: Due, room: _Room) -> int:
    """Go on to the next line of the reflog, or as far as there is room; how many chunks went on the way."""
    line, moved_to = tx.one(Q.line_after, session=turn.session_id, after=turn.gone_to) or (_NEVER, None)
    limit = room.events
    found = records.events_between.all(tx, session=turn.session_id, after=turn.gone_to, before=line, limit=limit)
    events = room.fill(found)
    own = [event for event in events if event.turn == turn.begin_seq]
    if len(events) == limit or len(events) < len(found):
        turn.gone_to = events[-1].seq
    else:
        room.events -= 1  # the line
        turn.gone_to, turn.is_done = line, line == _NEVER or moved_to == turn.turn_id
    turn.is_done |= any(event.kind == "stray" for event in own)
    gone = _take_away(tx, turn, [event.seq for event in own if event.kind == "chunk"])
    if turn.is_done:
        tx.defer(Q.set_trimmed, turn=turn.turn_id)
    return gone


def _take_away(tx: Tx, turn: Due, chunks: list[int]) -> int:
    """The floor rises first, which takes the session's lock: who trims the same at the same time finds nothing more."""
    if not chunks:
        return 0
    tx.defer(Q.raise_floor, session=turn.session_id, floor=chunks[-1])
    span = {"first": chunks[0], "last": chunks[-1]}
    return tx.run(Q.trim_chunks, session=turn.session_id, begin_seq=turn.begin_seq, **span)
