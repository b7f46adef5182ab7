"""The head of a session: locking it (clock, numbers) and moving it (compare-and-swap, reflog line)."""

from __future__ import annotations

from typing import NamedTuple

from ..base.clock import now_ms
from ..db.engine import Row, Tx
from ..db.queries import Q
from ..errors import HeadConflict, SessionNotFound
from . import digests, rows
from .read.heads import Head

assert Q.advance_head.names == ("turn", "now", "session", "stamps", "expected")
assert Q.begin_head.names == ("now", "session", "stamps", "expected")
assert Q.respond_head.names == ("now", "session", "turn", "fence")
assert Q.seal_head.names == ("turn", "session", "expected", "fence")
assert Q.insert_line.names == ("session", "seq", "kind", "turn", "revision", "at", "ref_seq", "reason", "link")


def lock(tx: Tx, session_id: str, *, timestamps: int = 1, events: int = 1, preview: str | None = None) -> Head:
    """Lock the session, read the clock, and reserve created_at values and event numbers."""
    params = {"session": session_id, "stamps": timestamps, "events": events, "preview": preview, "now": now_ms()}
    row = tx.one(Q.take_head, **params)
    if row is None:
        _make_head(tx, session_id)
        row = tx.one(Q.take_head, **params)
        assert row is not None
    return Head(session_id, *row)


def lock_as_it_is(tx: Tx, session_id: str) -> Head:
    """Lock the session and leave its clock alone, for what has times of its own; `put` writes down where it ends."""
    row = tx.one(Q.lock_for_graft, session=session_id, now=now_ms())
    if row is None:  # another program made the session
        _make_head(tx, session_id)
        row = tx.one(Q.lock_for_graft, session=session_id, now=now_ms())
        assert row is not None
    return Head(session_id, *row)


def put(tx: Tx, head: Head, *, said: int | None, preview: str | None) -> None:
    """A head that moved line by line under `lock_as_it_is`. `said`: when its newest message was, if it got any."""
    about = {"turn": head.turn_id, "revision": head.revision, "event_seq": head.event_seq, "last_at": head.last_at}
    tx.defer(Q.finish_graft, session=head.session_id, **about, said=said, preview=preview)


def flushed(tx: Tx, head: Head) -> Head:
    """Run the deferred statements now, so that their errors are raised here; the same head."""
    tx.all(Q.read_head, session=head.session_id)
    return head


def refuse_gone(head: Head) -> None:
    """Another program removed the session's row: nothing can be written there any more."""
    if not head.has_row:
        raise gone(head.session_id)


def gone(session_id: str) -> SessionNotFound:
    return SessionNotFound(session_id, "another program removed its row; verify() says what is left")


def mend(tx: Tx, head: Head) -> Head:
    """A head that points at a turn which is not there goes back to the last one of its reflog that is."""
    known = [line.turn_id for line in reversed(rows.history.all(tx, session=head.session_id))]
    there = (each for each in known if each is not None and tx.one(Q.parent_of, turn=each) is not None)
    to = next(there, None)
    taken = lock(tx, head.session_id, timestamps=0)
    return move(tx, taken, to, kind="recover", reason=f"turn {head.turn_id} is not there")


class Origin(NamedTuple):
    """Where a session comes from: how, and from which session, turn and tool call."""

    relation: str
    session_id: str | None = None
    turn_id: str | None = None
    call_id: str | None = None


def create(
    tx: Tx,
    session_id: str,
    origin: Origin,
    *,
    now: int,
    kind: str,
    reason: str | None,
    turn_id: str | None = None,
    last_at: int = 0,
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
        relation=origin.relation,
        origin=origin.session_id,
        origin_turn=origin.turn_id,
        origin_call=origin.call_id,
        title=title,
        preview=preview,
    )
    log(tx, session_id, 1, kind, turn_id, 0, now, reason=reason, link=b"")


# ---------------------------------------------------------------- the head moves


class Moved(NamedTuple):
    """A head that has just moved; its line is yet to be written, after the one whose link is `before`."""

    head: Head
    before: bytes

    def log(self, tx: Tx, kind: str, reason: str | None = None, ref_seq: int | None = None) -> bytes:
        """Write the line of the move; its link."""
        session_id, turn_id, revision, seq, *_ = self.head
        return log(tx, session_id, seq, kind, turn_id, revision, now_ms(), ref_seq, reason, link=self.before)


def move(
    tx: Tx, head: Head, to: str | None, *, kind: str, reason: str | None = None, ref_seq: int | None = None
) -> Head:
    """Point the head at `to`, if nobody else moved it, and write the line. Uses one of the event numbers reserved."""
    row = tx.one(Q.move_head, session=head.session_id, turn=to, expected=head.revision)
    if row is None:
        raise conflict(tx, head.session_id, head.revision)
    revision, link = row
    moved = Moved(head._replace(turn_id=to, revision=revision, has_turn=1), link or b"")
    moved.log(tx, kind, reason, ref_seq)
    return moved.head


def advance(tx: Tx, session_id: str, turn_id: str, *, timestamps: int, expected: int | None) -> Taken | None:
    """Lock, clock, compare-and-swap and move at once, where nothing is in the way. None: something is."""
    return _taken(session_id, tx.all_values(Q.advance_head, turn_id, now_ms(), session_id, timestamps, expected))


def begin(tx: Tx, session_id: str, *, timestamps: int, expected: int | None) -> Taken | None:
    """The same for a turn that is begun: the head stays where it is."""
    return _taken(session_id, tx.all_values(Q.begin_head, now_ms(), session_id, timestamps, expected))


class Taken(NamedTuple):
    """A head that was taken by one statement; after an `advance`, still with the turn that it moved from."""

    head: Head
    rules: str  # the session's own permission rules, as stored,
    has_preview: bool
    model: str | None  # its model,
    agent: str | None  # and its agent


def _taken(session_id: str, found: list[Row]) -> Taken | None:
    for turn_id, revision, seq, last_at, looked_at, rules, has_no_preview, model, agent in found:
        if rules is not None:  # else the session is archived or gone
            head = Head(session_id, turn_id, revision, seq, last_at, looked_at, None, None, 0)
            return Taken(head, rules, not has_no_preview, model, agent)
    return None


def seal(tx: Tx, session_id: str, turn_id: str, *, expected: int, fence: int) -> Moved | None:
    """Move the head to an open turn that seals. None: the head or the turn is not as it was."""
    for _, revision, event_seq, last_at, looked_at, link, open_turns in tx.all_values(
        Q.seal_head, turn_id, session_id, expected, fence
    ):
        head = Head(session_id, turn_id, revision, event_seq, last_at, looked_at, None, None, open_turns)
        return Moved(head, link or b"")
    return None


def respond(tx: Tx, session_id: str, turn_id: str, fence: int) -> tuple[int, int, int, bool] | None:
    """The first chunk of an open turn: (revision, its number, its message's created_at, whether the session has a row).
    None: the turn is not its writer's any more."""
    found = tx.all_values(Q.respond_head, now_ms(), session_id, turn_id, fence)
    for revision, seq, at, has_row in found:
        return revision, int(seq), at, bool(has_row)
    return None


def conflict(tx: Tx, session_id: str, expected: int | None) -> HeadConflict:
    return HeadConflict(session_id, expected, revision_of(tx, session_id))


def revision_of(tx: Tx, session_id: str) -> int:
    """The revision that somebody else moved the head to."""
    head = rows.head.one(tx, session=session_id)
    return head.revision if head else 0


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
    return digests.of(
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


def keep_preview(tx: Tx, session_id: str, preview: str | None) -> None:
    """The preview of a session that has none yet."""
    if preview is not None:
        tx.defer(Q.set_preview, session=session_id, preview=preview)


def _make_head(tx: Tx, session_id: str) -> None:
    """A session that another program made gets its head when it is first written to."""
    made = rows.session_made.one(tx, session=session_id)
    if made is None:
        raise SessionNotFound(session_id)
    create(tx, session_id, Origin("import"), now=made.created_at, kind="create", reason=f"agent {made.agent}")
