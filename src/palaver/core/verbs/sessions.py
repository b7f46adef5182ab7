"""Sessions: create, fork, list, archive, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base import arguments, exact_json, ids
from ...base.clock import now_ms
from ...base.exact_json import check_name
from ...base.lazy_import import later
from ...db.engine import Row, Tx
from ...db.queries import Q, Query
from ...errors import AliasTaken, BadValue, Refused, SessionDeleted, SessionNotFound, TurnNotFound
from ...model import Page, SessionInfo, Usage
from .. import damage, heads, metadata
from ..heads import Head
from ..settle import preflight
from ..settle.preflight import Runtime

if TYPE_CHECKING:
    import base64

    from ..settle import recovery, requeue
    from ..turn import open_turn
    from . import moves
else:
    later(
        globals(),
        "base64",
        ".core.settle.requeue",
        ".core.settle.recovery",
        ".core.verbs.moves",
        ".core.turn.open_turn",
    )

FAR = 2**62
UNKNOWN_MODEL = '{"provider_id":"","model_id":""}'
_DELETED = "deleted_at"
_LAST = "\U0010ffff"  # sorts after whatever an id goes on with


def create(
    tx: Tx,
    *,
    agent: str,
    workspace: str | None = None,
    model: Any = None,
    title: str | None = None,
    metadata_text: str = "{}",
    parent: str | None = None,
    parent_call: str | None = None,
    session_id: str | None = None,
) -> str:
    """A new session; with `parent`, a sub-agent's: relation `spawn`."""
    new = name(tx, session_id)
    now = now_ms()
    origin_turn, message = _spawn_point(tx, parent)
    tx.defer(
        Q.insert_session,
        id=new,
        agent=agent,
        workspace=workspace,
        model=model_text(model),
        parent=parent,
        parent_message=message,
        metadata=metadata_text,
        now=now,
    )
    heads.create(
        tx,
        new,
        now=now,
        kind="create",
        reason=f"agent {agent}",
        relation="spawn" if parent else "root",
        origin=parent,
        origin_turn=origin_turn,
        origin_call=parent_call,
        title=title,
    )
    return new


CLIENT = ("client", "session")  # origin and scope of ids that an application gives its sessions


def name(tx: Tx, wanted: str | None) -> str:
    """The id of a session to be. A caller's own id must be free; it is used if well-formed, else mapped to ours."""
    if wanted is None:
        return ids.mint(ids.SESSION)
    if not check_name("session id", wanted) or wanted == "@":
        raise BadValue(f"a session cannot have the id {wanted!r}; leave it out, or give one of your own")
    if resolve(tx, wanted) is not None:
        raise BadValue(f"session {wanted} exists already; get() opens it")
    if ids.is_ours(ids.SESSION, wanted):
        return wanted
    new = ids.mint(ids.SESSION)
    tx.run(Q.put_foreign_id, origin=CLIENT[0], scope=CLIENT[1], foreign=wanted, id=new)
    return new


def resolve(tx: Tx, wanted: str) -> str | None:
    """Our id for an id of ours or of the application's; None if there is no such session."""
    if tx.one(Q.session_exists, session=wanted) is not None:
        return wanted
    row = tx.one(Q.find_foreign_id, origin=CLIENT[0], scope=CLIENT[1], foreign=wanted)
    return row[0] if row else None


def _spawn_point(tx: Tx, parent: str | None) -> tuple[str | None, str | None]:
    if parent is None:
        return None, None
    row = tx.one(Q.read_head, session=parent)
    if row is None and tx.one(Q.session_exists, session=parent) is None:
        raise SessionNotFound(parent)
    turn_id = row[0] if row else None
    for open_id, base, status, *_ in reversed(tx.all(Q.open_turns, session=parent)):
        if row and base == row[1] and status != "pending":  # a turn that runs is where sub-agents come from
            turn_id = open_id
            break
    message, home = moves.nearest_user_message(tx, turn_id)
    return turn_id, message if home == parent else None


def fork(tx: Tx, head: Head, at: str | None, *, title: str | None = None) -> str:
    """A new session whose head is a turn of this one: one row and one head, nothing copied."""
    if at is None:
        turn_id = head.turn_id
    else:
        turn_id = moves.turn_at(tx, head, moves.find_place(tx, head, at, on_path=False))
    message, home = moves.nearest_user_message(tx, turn_id)
    source = tx.one(Q.fork_source, session=head.session_id)
    if source is None:
        raise SessionNotFound(head.session_id)
    agent, workspace, model, preview = source
    new, now = ids.mint(ids.SESSION), now_ms()
    tx.defer(
        Q.insert_session,
        id=new,
        agent=agent,
        workspace=workspace,
        model=model,
        parent=home or head.session_id,
        parent_message=message,
        metadata="{}",
        now=now,
    )
    heads.create(
        tx,
        new,
        now=now,
        kind="fork",
        reason=f"agent {agent}",
        turn_id=turn_id,
        last_at=head.last_at,
        relation="fork",
        origin=head.session_id,
        origin_turn=turn_id,
        title=title,
        preview=preview if message else None,
    )
    return new


# ---------------------------------------------------------------- reading


def get_row(tx: Tx, session_id: str) -> Row:
    row = tx.one(Q.get_session, session=session_id)
    if row is None:
        raise SessionNotFound(session_id)
    return row


def info(row: Row) -> SessionInfo:
    # fmt: off
    (
        id, agent, workspace, model, title, preview, parent, message, relation, revision, turn, depth, count,
        prompt, completion, reasoning, read, write, total, cost, meta, created, updated, archived, deleted,
    ) = row
    return SessionInfo(
        id, agent, workspace, _value(model, id), title, preview, parent, message, relation or "import", revision or 0,
        turn, depth or 0, count or 0, Usage(prompt, completion, reasoning, read, write), total, cost, _value(meta, id),
        created if type(created) is int else damage.as_time(created),
        updated if type(updated) is int else damage.as_time(updated), archived, deleted,
    )
    # fmt: on


def _value(text: str | None, session_id: str) -> Any:
    if text is None or text == "{}":
        return {}
    return {"provider_id": "", "model_id": ""} if text == UNKNOWN_MODEL else damage.opened(text, session_id)


def list_page(
    tx: Tx,
    *,
    agent: str | None,
    workspace: str | None,
    parent: str | None,
    archived: bool,
    order: str,
    limit: int,
    after: str | None,
) -> Page:
    """One page, newest first, from the index that fits the filters; no part is touched."""
    if order not in ("updated", "created"):
        raise BadValue(f"order is 'updated' or 'created', not {arguments.shown(order)}")
    before_at, before_id = _read_cursor(after, order) if after else (tx.far, "")
    query = Q.list_created if order == "created" else _driver(agent, workspace, parent)
    rows = tx.all(
        query,
        agent=agent,
        workspace=workspace,
        parent=parent,
        archived=int(bool(archived)),
        before_at=before_at,
        before_id=before_id,
        limit=limit + 1,
    )
    found = [info(row) for row in rows[:limit]]
    return Page(found, _cursor(found[-1], order) if len(rows) > limit else None)


def _driver(agent: str | None, workspace: str | None, parent: str | None) -> Query:
    if parent is not None:
        return Q.list_by_parent
    if agent is not None:
        return Q.list_by_agent
    return Q.list_by_workspace if workspace is not None else Q.list_recent


def _cursor(last: SessionInfo, order: str) -> str:
    at = last.created_at if order == "created" else last.updated_at
    at = at or FAR - 1  # what is no time sorts before all that have one
    return base64.urlsafe_b64encode(f"{order} {at} {last.id}".encode()).decode()


def _read_cursor(text: str, order: str) -> tuple[int, str]:
    try:
        kind, at, session_id = base64.b64decode(text, altchars=b"-_", validate=True).decode().split(" ", 2)
        if kind != order or not session_id or not 0 <= int(at) < FAR:
            raise ValueError
        return int(at), session_id
    except ValueError:
        raise BadValue(f"{arguments.shown(text)} is not a cursor; take the one of the page before") from None


def match(tx: Tx, name: str, *, deleted: bool) -> list[SessionInfo]:
    """Exact names first; failing these, pieces of ids."""
    exact = {resolve(tx, name)} | {row[0] for row in tx.all(Q.find_alias_anywhere, name=name)}
    exact |= {row[0] for row in tx.all(Q.find_title, title=name)}
    found = _alive(tx, exact - {None}, deleted)
    if found:
        return found
    bare = ids.SESSION + name
    begun = tx.all(Q.find_id_pieces, ours=name, ours_end=name + _LAST, bare=bare, bare_end=bare + _LAST)
    if not begun and len(name) >= 4:
        begun = tx.all(Q.find_id_tails, tail="%" + like(name))
    return _alive(tx, {row[0] for row in begun}, deleted)


def like(text: str) -> str:
    """Text that means itself in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _alive(tx: Tx, found: set[str | None], deleted: bool) -> list[SessionInfo]:
    rows = [tx.one(Q.get_session, session=each) for each in found]
    infos = [info(row) for row in rows if row is not None]
    return sorted((i for i in infos if deleted or i.deleted_at is None), key=lambda i: (-i.updated_at, i.id))


def ancestors(tx: Tx, session_id: str) -> list[str]:
    """Where a session came from, nearest first. A cycle that another program made ends the walk."""
    found: dict[str, None] = {session_id: None}
    at: str | None = session_id
    while at is not None:
        row = tx.one(Q.origin_of, session=at)
        at = row[0] if row and row[0] not in found else None
        if at is not None:
            found[at] = None
    return list(found)[1:]


def descendants(tx: Tx, session_id: str) -> list[str]:
    found: dict[str, None] = {session_id: None}
    queue = [session_id]
    for at in queue:
        new = [row[0] for row in tx.all(Q.offspring_of, session=at) if row[0] not in found]
        found.update(dict.fromkeys(new))
        queue.extend(new)
    return list(found)[1:]


# ---------------------------------------------------------------- archive, delete, names


def set_archived(tx: Tx, session_id: str, archived: bool) -> None:
    row = tx.one(Q.session_stamps, session=session_id)
    if row is None:
        raise SessionNotFound(session_id)
    if row[2] is not None:
        raise SessionDeleted(session_id)
    if (row[1] is not None) == archived:
        return
    head, now = heads.lock(tx, session_id, timestamps=0), now_ms()
    tx.defer(Q.set_archived, session=session_id, at=now if archived else None, now=now)
    open_turn.record_event(tx, head, "archive" if archived else "unarchive", None, {})


def delete(tx: Tx, runtime: Runtime, head: Head) -> None:
    """A move to nothing. Rows stay until nothing reaches them; forks keep reading."""
    now = now_ms()
    for turn_id, _, status, *_ in tx.all(Q.open_turns, session=head.session_id):
        if status == "pending":
            requeue.entomb(tx, head, turn_id)
        else:
            head = recovery.abandon(tx, head, turn_id, "aborted")
    preflight.settle(tx, runtime, head, everywhere=True)
    head = heads.lock(tx, head.session_id, timestamps=0)
    moves.move(tx, head, None, kind="delete", reason=None)
    row = get_row(tx, head.session_id)
    tx.defer(Q.set_deleted, session=head.session_id, at=now)
    tx.defer(Q.set_archived, session=head.session_id, at=now, now=now)
    text = metadata.splice(row[20], _DELETED, str(now))
    tx.defer(Q.set_session_metadata, session=head.session_id, metadata=text, now=now)


def undelete(tx: Tx, head: Head) -> None:
    if head.deleted_at is None:
        raise Refused(f"session {head.session_id} is not deleted")
    row = get_row(tx, head.session_id)
    stamp = f'"{_DELETED}":{head.deleted_at}'
    text = row[20].replace("," + stamp, "").replace(stamp, "")
    now = now_ms()
    tx.defer(Q.set_deleted, session=head.session_id, at=None)
    tx.defer(Q.set_archived, session=head.session_id, at=None, now=now)
    tx.defer(Q.set_session_metadata, session=head.session_id, metadata=text, now=now)
    moves.undo(tx, head, "undelete")


def set_title(tx: Tx, session_id: str, title: str | None) -> None:
    head = heads.lock(tx, session_id, timestamps=0)
    tx.defer(Q.set_title, session=session_id, title=title)
    open_turn.record_event(tx, head, "title", None, {"title": title})


def add_alias(tx: Tx, session_id: str, name: str, namespace: str, turn_id: str | None, reason: str | None) -> None:
    if tx.one(Q.session_exists, session=session_id) is None:
        raise SessionNotFound(session_id)
    if turn_id is not None and tx.one(Q.parent_of, turn=turn_id) is None:
        raise TurnNotFound(turn_id)
    if not name:
        raise BadValue("a name cannot be empty")
    added = tx.run(
        Q.insert_alias,
        namespace=namespace,
        name=name,
        session=session_id,
        turn=turn_id,
        now=now_ms(),
        reason=reason,
    )
    if not added:
        row = tx.one(Q.find_alias, namespace=namespace, name=name)
        assert row is not None
        if row != (session_id, turn_id):
            raise AliasTaken(namespace, name, row[0])


def model_text(model: Any) -> str:
    """`{provider_id, model_id, variant?}`, or "provider/model" for short."""
    if model is None:
        return UNKNOWN_MODEL
    return exact_json.encode(as_model(model))


def as_model(model: Any) -> Any:
    if isinstance(model, str):
        provider, slash, name = model.partition("/")
        model = {"provider_id": provider, "model_id": name} if slash else {"provider_id": "", "model_id": model}
    if not isinstance(model, dict) or not all(isinstance(model.get(k), str) for k in ("provider_id", "model_id")):
        raise BadValue('a model is {"provider_id": …, "model_id": …, "variant"?: …} or "provider/model"')
    return model
