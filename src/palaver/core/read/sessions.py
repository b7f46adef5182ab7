"""Sessions as a list shows them: one, a page, those that a name fits, and where they came from."""

from __future__ import annotations

from typing import Any

from ...base import arguments, ids
from ...db.engine import Row, Tx
from ...db.queries import Q, Query
from ...errors import BadValue, SessionNotFound
from ...model import Page, SessionInfo, Usage
from .. import damage, model_ref, rows

CLIENT = ("client", "session")  # origin and scope of ids that an application gives its sessions
_FAR = 2**62
_LAST = "\U0010ffff"  # sorts after whatever an id goes on with


def info(tx: Tx, session_id: str) -> SessionInfo:
    row = tx.one(Q.get_session, session=session_id)
    if row is None:
        raise SessionNotFound(session_id)
    return _info(row)


def require(tx: Tx, session_id: str) -> None:
    """Refuse a session that is not there."""
    if tx.one(Q.session_exists, session=session_id) is None:
        raise SessionNotFound(session_id)


def _info(row: Row) -> SessionInfo:
    """A list is many rows: they are unpacked, in the order of `rows.SessionRow`."""
    # fmt: off
    (
        id, agent, workspace, model, title, preview, parent, message, relation, revision, turn, depth, count,
        prompt, completion, reasoning, read, write, total, cost, meta, created, updated, archived, deleted,
        app_id, waiting, live,
    ) = row
    return SessionInfo(
        id, agent, workspace, _value(model, id), title, preview, parent, message, relation or "import", revision or 0,
        turn, depth or 0, count or 0, Usage(prompt, completion, reasoning, read, write), total, cost, _value(meta, id),
        created if type(created) is int else damage.as_time(created),
        updated if type(updated) is int else damage.as_time(updated), archived, deleted,
        app_id, waiting, live,
    )
    # fmt: on


def _value(text: str | None, session_id: str) -> Any:
    if text is None or text == "{}":
        return {}
    return {"provider_id": "", "model_id": ""} if text == model_ref.UNKNOWN else damage.opened(text, session_id)


# ---------------------------------------------------------------- a page


def list_page(
    tx: Tx,
    *,
    agent: str | None,
    workspace: str | None,
    parent: str | None,
    archived: bool,
    deleted: bool = False,
    waiting: bool = False,
    order: str,
    limit: int,
    after: str | None,
) -> Page:
    """One page, newest first, from the index that fits the filters; no part is touched."""
    if order not in ("updated", "created"):
        raise BadValue(f"order is 'updated' or 'created', not {arguments.shown(order)}")
    if deleted:
        order = "deleted"
    if parent is not None:
        parent = resolve(tx, parent) or parent
    before_at, before_id = _read_cursor(after, order) if after else (tx.far, "")
    listed = tx.all(
        _driver(order, agent, workspace, parent),
        agent=agent,
        workspace=workspace,
        parent=parent,
        archived=int(bool(archived)),
        waiting=int(bool(waiting)),
        before_at=before_at,
        before_id=before_id,
        limit=limit + 1,
    )
    found = [_info(row) for row in listed[:limit]]
    return Page(found, _cursor(found[-1], order) if len(listed) > limit else None)


def _driver(order: str, agent: str | None, workspace: str | None, parent: str | None) -> Query:
    if order != "updated":
        return Q.list_created if order == "created" else Q.list_deleted
    if parent is not None:
        return Q.list_by_parent
    if agent is not None:
        return Q.list_by_agent
    return Q.list_by_workspace if workspace is not None else Q.list_recent


def _cursor(last: SessionInfo, order: str) -> str:
    from base64 import urlsafe_b64encode  # when there is a page more: most lists end before

    times = {"created": last.created_at, "updated": last.updated_at, "deleted": last.deleted_at}
    at = times[order]
    at = at or _FAR - 1  # what is no time sorts before all that have one
    return urlsafe_b64encode(f"{order} {at} {last.id}".encode()).decode()


def _read_cursor(text: str, order: str) -> tuple[int, str]:
    from base64 import b64decode

    try:
        kind, at, session_id = b64decode(text, altchars=b"-_", validate=True).decode().split(" ", 2)
        if kind != order or not session_id or not 0 <= int(at) < _FAR:
            raise ValueError
        return int(at), session_id
    except ValueError:
        raise BadValue(f"{arguments.shown(text)} is not a cursor; take the one of the page before") from None


# ---------------------------------------------------------------- by name


def resolve(tx: Tx, wanted: str) -> str | None:
    """Our id for an id of ours or of the application's; None if there is no such session."""
    if tx.one(Q.session_exists, session=wanted) is not None:
        return wanted
    origin, scope = CLIENT
    row = tx.one(Q.find_foreign_id, origin=origin, scope=scope, foreign=wanted)
    return row if row is None else str(*row)


def match(tx: Tx, name: str, *, deleted: bool) -> list[SessionInfo]:
    """Exact names first; failing these, pieces of ids."""
    exact = {resolve(tx, name)} | {session for session, _, _ in tx.all(Q.find_alias_anywhere, name=name)}
    exact |= {session for (session,) in tx.all(Q.find_title, title=name)}
    found = _alive(tx, exact - {None}, deleted)
    if found:
        return found
    bare = ids.SESSION + name
    begun = tx.all(Q.find_id_pieces, ours=name, ours_end=name + _LAST, bare=bare, bare_end=bare + _LAST)
    if not begun and len(name) >= 4:
        begun = tx.all(Q.find_id_tails, tail="%" + like(name))
    return _alive(tx, {session for (session,) in begun}, deleted)


def like(text: str) -> str:
    """Text that means itself in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _alive(tx: Tx, found: set[str | None], deleted: bool) -> list[SessionInfo]:
    listed = [tx.one(Q.get_session, session=each) for each in found]
    infos = [_info(row) for row in listed if row is not None]
    return sorted((i for i in infos if deleted or i.deleted_at is None), key=lambda i: (-i.updated_at, i.id))


def aliases(tx: Tx, session_id: str) -> list[tuple[str, str]]:
    """(namespace, name) of each."""
    return [(row.namespace, row.name) for row in rows.aliases_of.all(tx, session=session_id)]


# ---------------------------------------------------------------- lineage


def ancestors(tx: Tx, session_id: str) -> list[str]:
    """Where a session came from, nearest first. A cycle that another program made ends the walk."""
    found: dict[str, None] = {session_id: None}
    at: str | None = session_id
    while at is not None:
        row = tx.one(Q.origin_of, session=at)
        (origin,) = row or (None,)
        at = origin if origin not in found else None
        if at is not None:
            found[at] = None
    return list(found)[1:]


def descendants(tx: Tx, session_id: str) -> list[str]:
    found: dict[str, None] = {session_id: None}
    queue = [session_id]
    for at in queue:
        new = [session for (session,) in tx.all(Q.offspring_of, session=at) if session not in found]
        found.update(dict.fromkeys(new))
        queue.extend(new)
    return list(found)[1:]
