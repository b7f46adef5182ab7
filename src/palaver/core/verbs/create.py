"""New sessions: from nothing, as a sub-agent's, and as a fork of another."""

from __future__ import annotations

from typing import Any

from ...base import ids
from ...base.clock import now_ms
from ...base.exact_json import check_name
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue, SessionDeleted, SessionExists, SessionNotFound
from .. import heads, model_ref, rows
from ..foreign import materialise
from ..read import places, sessions
from ..runtime import Runtime
from ..settle import preflight
from . import moves


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
    parent = None if parent is None else _known(tx, parent)
    new, now = _name(tx, session_id), now_ms()
    origin_turn, message = _spawn_point(tx, parent)
    tx.defer(
        Q.insert_session,
        id=new,
        agent=agent,
        workspace=workspace,
        model=model_ref.stored(model),
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


def get_or_create(tx: Tx, wanted: str, new: dict[str, Any]) -> str:
    """The session that is known by an id, or a new one that is."""
    found = sessions.resolve(tx, wanted)
    if found is None:
        try:
            return create(tx, **new, session_id=wanted)
        except SessionExists:  # somebody made it while we waited for the lock of its id
            found = _known(tx, wanted)
    head = rows.head.one(tx, session=found)
    if head is not None and head.deleted_at is not None:
        raise SessionDeleted(found)
    return found


def _known(tx: Tx, wanted: str) -> str:
    """Our id of a session that is there, by our id or the application's."""
    found = sessions.resolve(tx, wanted)
    if found is None:
        raise SessionNotFound(wanted)
    return found


def _name(tx: Tx, wanted: str | None) -> str:
    """The id of a session to be. A caller's own id must be free; it is used if well-formed, else mapped to ours."""
    if wanted is None:
        return ids.mint(ids.SESSION)
    if not check_name("session id", wanted) or wanted == "@":
        raise BadValue(f"a session cannot have the id {wanted!r}; leave it out, or give one of your own")
    if sessions.resolve(tx, wanted) is not None:
        raise SessionExists(wanted)
    if ids.is_ours(ids.SESSION, wanted):
        return wanted
    new, (origin, scope) = ids.mint(ids.SESSION), sessions.CLIENT
    if not tx.run(Q.put_foreign_id, origin=origin, scope=scope, foreign=wanted, id=new):
        raise SessionExists(wanted)
    return new


def _spawn_point(tx: Tx, parent: str | None) -> tuple[str | None, str | None]:
    """The turn and the message that a sub-agent comes from: a turn that runs, else the head."""
    if parent is None:
        return None, None
    head = rows.head.one(tx, session=parent)
    if head is None:
        sessions.require(tx, parent)
    turn_id = head.turn_id if head else None
    for turn in reversed(rows.open_turns.all(tx, session=parent)):
        if head is not None and turn.base_revision == head.revision and turn.status != "pending":
            turn_id = turn.id
            break
    message, home = places.nearest_user_message(tx, turn_id)
    return turn_id, message if home == parent else None


def fork(tx: Tx, runtime: Runtime, session_id: str, at: str | None, title: str | None, copy: bool) -> str:
    """A new session whose head is a turn of this one: one row and one head, nothing copied (unless `copy`)."""
    head = preflight.ready(tx, runtime, session_id, timestamps=0, writing=False)
    if head.deleted_at is not None:
        preflight.refuse_closed(head)
    turn_id = head.turn_id if at is None else moves.turn_at(tx, head, places.find(tx, head, at, on_path=False))
    message, home = places.nearest_user_message(tx, turn_id)
    source = rows.fork_source.one(tx, session=session_id)
    if source is None:
        raise SessionNotFound(session_id)
    new, now = ids.mint(ids.SESSION), now_ms()
    tx.defer(
        Q.insert_session,
        id=new,
        agent=source.agent,
        workspace=source.workspace_root,
        model=source.model_json,
        parent=home or session_id,
        parent_message=message,
        metadata="{}",
        now=now,
    )
    heads.create(
        tx,
        new,
        now=now,
        kind="fork",
        reason=f"agent {source.agent}",
        turn_id=turn_id,
        last_at=head.last_at,
        relation="fork",
        origin=session_id,
        origin_turn=turn_id,
        title=title,
        preview=source.preview if message else None,
    )
    if copy:
        materialise.materialise(tx, heads.lock(tx, new, timestamps=0))
    return new


def copy_shared(tx: Tx, runtime: Runtime, session_id: str) -> int:
    """Copy the messages of a fork that live in other sessions; how many."""
    return materialise.materialise(tx, preflight.ready(tx, runtime, session_id, timestamps=0))
