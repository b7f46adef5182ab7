"""The head of a session: taking it (lock, clock, numbers) and moving it (compare-and-swap, reflog line)."""

from __future__ import annotations

from typing import NamedTuple

from ..base import exact_json
from ..base.clock import now_ms
from ..db.engine import Tx
from ..db.queries import Q
from ..errors import HeadConflict, SessionNotFound, TurnNotFound

assert Q.seal_head.names == ("turn", "session", "expected", "fence")
assert Q.insert_line.names == ("session", "seq", "kind", "turn", "revision", "at", "ref_seq", "reason", "link")


class FastPathMissed(Exception):
    """Something needs a closer look; nothing of this transaction may stay."""


class Head(NamedTuple):
    """A session's pointer, taken under the lock. Stamps end at `last_at`, event numbers at `event_seq`."""

    session_id: str
    turn_id: str | None
    revision: int
    event_seq: int
    last_at: int
    looked_at: int
    deleted_at: int | None
    archived_at: int | None
    open_turns: int
    has_row: int = 1
    has_turn: int = 1  # 0: it points at a turn that is not there


class Thread(NamedTuple):
    """What a turn inherits from its parent."""

    digest: bytes | None = None
    depth: int = 0
    tokens: int = 0
    messages: int = 0


def lock(tx: Tx, session_id: str, *, timestamps: int = 1, events: int = 1, preview: str | None = None) -> Head:
    """Lock the session, read the clock, and reserve created_at values and event numbers."""
    params = {"session": session_id, "stamps": timestamps, "events": events, "preview": preview, "now": now_ms()}
    row = tx.one(Q.take_head, **params)
    if row is None:
        _make_head(tx, session_id)
        row = tx.one(Q.take_head, **params)
        assert row is not None
    return Head(session_id, *row)


def read(tx: Tx, session_id: str) -> Head:
    """The head as it stands, for who only looks. A session that another program made has none yet."""
    row = tx.one(Q.look_at_head, session=session_id)
    return Head(session_id, *(row or (None, 0, 0, 0, 0, None, None, 0)))


def flushed(tx: Tx, head: Head) -> Head:
    """The same head, after everything that waits was sent: if a row cannot be written, it shows here."""
    tx.all(Q.read_head, session=head.session_id)
    return head


def refuse_gone(head: Head) -> None:
    """Another program removed the session's row: nothing can be written there any more."""
    if not head.has_row:
        raise gone(head.session_id)


def gone(session_id: str) -> SessionNotFound:
    return SessionNotFound(session_id, "another program removed its row; verify() says what is left")


def thread_of(tx: Tx, turn_id: str | None) -> Thread:
    if turn_id is None:
        return Thread()
    row = tx.one(Q.thread_of, turn=turn_id)
    if row is None:
        raise TurnNotFound(turn_id, "the head of a session, or a turn, points at it; verify() says which")
    return Thread(*row)


def mend(tx: Tx, head: Head) -> Head:
    """A head that points at a turn which is not there goes back to the last one of its reflog that is."""
    known = [turn_id for _, _, turn_id, *_ in reversed(tx.all(Q.history, session=head.session_id))]
    there = (each for each in known if each is not None and tx.one(Q.thread_of, turn=each) is not None)
    to = next(there, None)
    taken = lock(tx, head.session_id, timestamps=0)
    return move(tx, taken, to, kind="recover", reason=f"turn {head.turn_id} is not there")


def create(
    tx: Tx,
    session_id: str,
    *,
    now: int,
    kind: str,
    reason: str | None,
    turn_id: str | None = None,
    last_at: int = 0,
    relation: str = "root",
    origin: str | None = None,
    origin_turn: str | None = None,
    origin_call: str | None = None,
    title: str | None = None,
    preview: str | None = None,
) -> None:
    """A new head and the first line of its reflog."""
    tx.defer(
        Q.insert_head,
        session=session_id,
        turn=turn_id,
        revision=0,
        event_seq=1,
        last_at=last_at,
        relation=relation,
        origin=origin,
        origin_turn=origin_turn,
        origin_call=origin_call,
        title=title,
        preview=preview,
    )
    log(tx, session_id, 1, kind, turn_id, 0, now, reason=reason, link=b"")


def move(
    tx: Tx,
    head: Head,
    to: str | None,
    *,
    kind: str,
    reason: str | None = None,
    ref_seq: int | None = None,
    seq: int | None = None,
) -> Head:
    """Point the head at `to`, if nobody else moved it, and write the line. Uses one of the event numbers taken."""
    row = tx.one(Q.move_head, session=head.session_id, turn=to, expected=head.revision)
    if row is None:
        raise conflict(tx, head.session_id, head.revision)
    revision, link = row
    seq = head.event_seq if seq is None else seq
    log(tx, head.session_id, seq, kind, to, revision, now_ms(), ref_seq, reason, link=link or b"")
    return head._replace(turn_id=to, revision=revision, has_turn=1)


class Advance(NamedTuple):
    """A head that has just moved from its turn to another; the line is yet to be written, after the one whose link is
    `before`."""

    head: Head
    parent_id: str | None
    before: bytes

    def log(self, tx: Tx, kind: str) -> bytes:
        """The line of it; its link."""
        session_id, turn_id, revision, seq = self.head[:4]
        return log(tx, session_id, seq, kind, turn_id, revision, now_ms(), link=self.before)


def seal(tx: Tx, session_id: str, turn_id: str, *, expected: int, fence: int) -> Advance | None:
    """Move the head to an open turn that seals. None: the head or the turn is not as it was."""
    rows = tx.all_values(Q.seal_head, turn_id, session_id, expected, fence)
    if not rows:
        return None
    parent, revision, event_seq, last_at, looked_at, link, open_turns = rows[0]
    head = Head(session_id, turn_id, revision, event_seq, last_at, looked_at, None, None, open_turns)
    return Advance(head, parent, link or b"")


def conflict(tx: Tx, session_id: str, expected: int | None) -> HeadConflict:
    row = tx.one(Q.read_head, session=session_id)
    return HeadConflict(session_id, expected, row[1] if row else 0)


def line_link(
    before: bytes,
    session_id: str,
    seq: int,
    kind: str,
    turn_id: str | None,
    revision: int,
    at: int,
    ref_seq: int | None,
    reason: str | None,
) -> bytes:
    """The link of a reflog line: over its own fields and the link before it."""
    fields = (session_id, seq, kind, turn_id, revision, at, ref_seq, reason)
    return exact_json.digest(
        before, *[b"" if field is None else str(field).encode("utf-8", "surrogateescape") for field in fields]
    )


def log(
    tx: Tx,
    session_id: str,
    seq: int,
    kind: str,
    turn_id: str | None,
    revision: int,
    at: int,
    ref_seq: int | None = None,
    reason: str | None = None,
    *,
    link: bytes,
) -> bytes:
    """The line of a move; `link` is that of the line before. Its own link."""
    link = line_link(link, session_id, seq, kind, turn_id, revision, at, ref_seq, reason)
    tx.defer_values(Q.insert_line, session_id, seq, kind, turn_id, revision, at, ref_seq, reason, link)
    return link


def _make_head(tx: Tx, session_id: str) -> None:
    """A session that another program made gets its head when it is first written to."""
    row = tx.one(Q.session_exists, session=session_id)
    if row is None:
        raise SessionNotFound(session_id)
    create(tx, session_id, now=row[0], kind="create", reason=f"agent {row[1]}", relation="import")
