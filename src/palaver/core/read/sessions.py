"""Sessions as a list shows them: one, those that a name fits, their names and facts."""

from __future__ import annotations

from typing import Any

from ...base import ids
from ...db.engine import Row, Tx
from ...db.queries import Q
from ...errors import SessionNotFound
from ...model import SessionInfo, Usage
from .. import damage, model_ref, rows

CLIENT = ("client", "session")  # origin and scope of ids that an application gives its sessions
_LONGEST = 200  # characters of an id; a pattern of very many is more than SQLite takes
_LAST = "\U0010ffff"  # sorts after whatever an id goes on with
_CLEAR = 4  # characters of an id from which on its end is enough


def info(tx: Tx, session_id: str) -> SessionInfo:
    row = tx.one(Q.get_session, session=session_id)
    if row is None:
        raise SessionNotFound(session_id)
    return as_info(row)


def require(tx: Tx, session_id: str) -> None:
    """Refuse a session that is not there."""
    if tx.one(Q.session_exists, session=session_id) is None:
        raise SessionNotFound(session_id)


def as_info(row: Row) -> SessionInfo:
    """A list is many rows: they are unpacked, in the order of `rows.SessionRow`."""
    # fmt: off
    (
        id, agent, workspace, model, title, preview, parent, message, relation, revision, turn, depth, count,
        prompt, completion, reasoning, read, write, total, cost, meta, created, updated, archived, deleted,
        ended, reason, message_at, app_id, turns,
    ) = row
    return SessionInfo(
        id, agent, workspace, _value(model, id), title, preview, parent, message, relation or "import", revision or 0,
        turn, depth or 0, count or 0, Usage(prompt, completion, reasoning, read, write), total, cost, _value(meta, id),
        created if type(created) is int else damage.as_time(created),
        updated if type(updated) is int else damage.as_time(updated), archived, deleted,
        app_id, *_open(turns), ended, reason, message_at,
    )
    # fmt: on


def _open(statuses: str | None) -> tuple[int, int]:
    """How many of a session's open turns wait, and how many are written."""
    return (statuses.count("waiting"), statuses.count("streaming")) if statuses else (0, 0)


def _value(text: str | None, session_id: str) -> Any:
    if text is None or text == "{}":
        return {}
    return {"provider_id": "", "model_id": ""} if text == model_ref.UNKNOWN else damage.opened(text, session_id)


# ---------------------------------------------------------------- by name


def resolve(tx: Tx, wanted: str) -> str | None:
    """Our id for an id of ours or of the application's; None if there is no such session."""
    if tx.one(Q.session_exists, session=wanted) is not None:
        return wanted
    origin, scope = CLIENT
    row = tx.one(Q.find_foreign_id, origin=origin, scope=scope, foreign=wanted)
    return row if row is None else str(*row)


def match(tx: Tx, name: str, *, deleted: bool) -> list[SessionInfo]:
    """A whole id, ours or the application's, is that session and no other. Else whatever has the name: by an alias, a
    title, or a piece of its id; a piece of few characters counts only if nobody is called so."""
    whole = resolve(tx, name)
    if whole is not None:
        return _alive(tx, {whole}, deleted)
    called = {session for session, _, _ in tx.all(Q.find_alias_anywhere, name=name)}
    called |= {session for (session,) in tx.all(Q.find_title, title=name)}
    found = _alive(tx, called, deleted)
    return found if found and len(name) < _CLEAR else _alive(tx, called | _pieces(tx, name), deleted)


def _pieces(tx: Tx, name: str) -> set[str]:
    """Sessions whose id begins with it, with or without what every id begins with; failing these, ends with it."""
    bare = ids.SESSION + name
    begun = tx.all(Q.find_id_pieces, ours=name, ours_end=name + _LAST, bare=bare, bare_end=bare + _LAST)
    if not begun and _CLEAR <= len(name) <= _LONGEST:
        begun = tx.all(Q.find_id_tails, tail="%" + like(name))
    return {session for (session,) in begun}


def like(text: str) -> str:
    """Text that means itself in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _alive(tx: Tx, found: set[str], deleted: bool) -> list[SessionInfo]:
    listed = [tx.one(Q.get_session, session=each) for each in found]
    infos = [as_info(row) for row in listed if row is not None]
    return sorted((i for i in infos if deleted or i.deleted_at is None), key=lambda i: (-i.updated_at, i.id))


def aliases(tx: Tx, session_id: str) -> list[tuple[str, str]]:
    """(namespace, name) of each."""
    return [(row.namespace, row.name) for row in rows.aliases_of.all(tx, session=session_id)]


def facts(tx: Tx, session_id: str) -> dict[str, str]:
    """What it belongs to, by name."""
    found = {row.name: row.value for row in rows.facts_of_session.all(tx, session=session_id)}
    if not found:
        require(tx, session_id)
    return found


def is_deleted(tx: Tx, session_id: str) -> bool:
    stamps = rows.session_stamps.one(tx, session=session_id)
    return stamps is not None and stamps.deleted_at is not None
