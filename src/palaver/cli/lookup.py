"""Reads that the library does not offer by name yet, each in one snapshot, in one place."""

from __future__ import annotations

from typing import NamedTuple

from palaver import Session, SessionInfo, Store, TurnInfo
from palaver.core import events, sessions, transcript
from palaver.core.transcript import Message
from palaver.db.database import Tx
from palaver.db.queries import Q, Query

_SHORTEST_ENDING = 4
_ALIVE = "(:deleted = 1 OR h.deleted_at IS NULL)"
_FROM = "FROM chat_sessions s LEFT JOIN heads h ON h.session_id = s.id"
_NAMED = Query(
    "named",
    f"""SELECT s.id {_FROM} WHERE {_ALIVE} AND s.id IN (
        SELECT id FROM foreign_ids WHERE origin = 'client' AND scope = 'session' AND foreign_id = :name
        UNION SELECT session_id FROM aliases WHERE name = :name
        UNION SELECT session_id FROM heads WHERE title = :name) LIMIT 20""",
)
_EXACT = Query("exact", f"SELECT s.id {_FROM} WHERE {_ALIVE} AND s.id = :name")
_PREFIX = Query(
    "prefix",
    f"""SELECT s.id {_FROM} WHERE {_ALIVE}
        AND (s.id >= :name AND s.id < :past OR s.id >= 'ses_' || :name AND s.id < 'ses_' || :past) LIMIT 20""",
)
_ENDING = Query("ending", f"SELECT s.id {_FROM} WHERE {_ALIVE} AND substr(s.id, -length(:name)) = :name LIMIT 20")
_SIMILAR = Query(
    "similar",
    f"""SELECT s.id {_FROM} WHERE {_ALIVE} AND (instr(lower(h.title), lower(:name)) OR instr(s.id, :name))
        ORDER BY s.updated_at DESC LIMIT 5""",
)


class Snapshot(NamedTuple):
    """A transcript, the number of the newest event that it contains, and the turns that are being written."""

    messages: list[Message]
    seq: int
    live: list[str]


def match(store: Store, name: str, *, deleted: bool = False) -> list[SessionInfo]:
    """The sessions that a name may mean: by exact name; if there is none, by the beginning or the end of the id."""
    given = {"name": name, "past": name + "\U0010ffff", "deleted": int(deleted)}
    with store.db.read() as tx:
        for query in (_EXACT, _NAMED, _PREFIX, _ENDING):
            if query is _ENDING and len(name) < _SHORTEST_ENDING:
                break
            found = [row[0] for row in tx.all(query, **given)]
            if found:
                return [_info(tx, one) for one in found]
    return []


def similar(store: Store, name: str) -> list[SessionInfo]:
    with store.db.read() as tx:
        found = tx.all(_SIMILAR, name=name, deleted=0) if name else []
        return [_info(tx, row[0]) for row in found]


def _info(tx: Tx, session_id: str) -> SessionInfo:
    return sessions.info(sessions.get_row(tx, session_id))


def messages(store: Store, session: Session, turn_id: str | None = None) -> list[Message]:
    """The transcript as stored; up to a turn, if one is named."""
    with store.db.read() as tx:
        return transcript.read(tx, session.id) if turn_id is None else transcript.read_path(tx, turn_id)


def snapshot(store: Store, session: Session) -> Snapshot:
    with store.db.read() as tx:
        newest = tx.one(Q.max_event, session=session.id)
        lines = events.history(tx, session.id)
        seq = max(newest[0] if newest and newest[0] else 0, lines[-1].seq if lines else 0)
        return Snapshot(transcript.read(tx, session.id), seq, _live_turns(tx, session.id))


def messages_of_turn(store: Store, turn_id: str) -> list[Message]:
    with store.db.read() as tx:
        return transcript._assemble(tx.all(Q.turn_rows, turn=turn_id))


def turns(store: Store, turn_ids: list[str]) -> dict[str, TurnInfo]:
    with store.db.read() as tx:
        found = [tx.one(Q.get_turn, turn=turn_id) for turn_id in dict.fromkeys(turn_ids)]
    return {row[0]: events.turn_info(row) for row in found if row}


def live_turns(store: Store, session: Session) -> list[str]:
    with store.db.read() as tx:
        return _live_turns(tx, session.id)


def _live_turns(tx: Tx, session_id: str) -> list[str]:
    return [row[0] for row in tx.all(Q.open_turns, session=session_id) if row[2] == "streaming"]
