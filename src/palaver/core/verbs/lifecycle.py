"""The life of a session: its title and names, the archive, deletion and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import AliasTaken, BadValue, Refused, ReservedKey, SessionDeleted, SessionNotFound, TurnNotFound
from .. import damage, heads, metadata, rows
from ..read import sessions
from ..runtime import Runtime
from ..settle import preflight, recovery, requeue
from ..turn import open_turn
from . import moves

_DELETED = "deleted_at"


def set_title(tx: Tx, _: Runtime, session_id: str, title: str | None) -> None:
    head = heads.lock(tx, session_id, timestamps=0)
    tx.defer(Q.set_title, session=session_id, title=title)
    open_turn.record_event(tx, head, "title", None, {"title": title})


def metadata_changes(given: Any) -> dict[str, Any]:
    """What a caller gave to change of a session's metadata: each value as its JSON text, None for one that goes."""
    if not isinstance(given, Mapping):
        raise BadValue(f"metadata changes are an object of keys and values, not {type(given).__name__}")
    text = metadata.as_given({key: value for key, value in given.items() if value is not None})
    changes = exact_json.open_object(text) | {key: None for key, value in given.items() if value is None}
    for key in changes:
        if exact_json.check_text("metadata key", key) == _DELETED:
            raise ReservedKey(_DELETED)
    return changes


def update_metadata(tx: Tx, _: Runtime, session_id: str, changes: dict[str, Any]) -> None:
    """Change some keys; the others keep their bytes. What is so already is no event."""
    if _changed(tx, session_id, changes) is None:
        return
    head = heads.lock(tx, session_id, timestamps=0)
    text = _changed(tx, session_id, changes)
    if text is not None:
        tx.defer(Q.set_session_metadata, session=session_id, metadata=text, now=now_ms())
        open_turn.record_event(tx, head, "metadata", None, {"changes": changes})


def _changed(tx: Tx, session_id: str, changes: dict[str, Any]) -> str | None:
    """A session's metadata with the changes in it; None if there are none."""
    stamps = rows.session_stamps.one(tx, session=session_id)
    if stamps is None:
        raise SessionNotFound(session_id)
    if stamps.deleted_at is not None:
        raise SessionDeleted(session_id)
    before = stamps.metadata_json
    if not isinstance(damage.parsed(before), dict):
        raise Refused(f"the metadata of session {session_id} is no object; another program wrote it")
    after = exact_json.open_object(before) | changes
    text = exact_json.encode({key: value for key, value in after.items() if value is not None})
    return None if exact_json.same(before, text) else text


def set_archived(tx: Tx, _: Runtime, session_id: str, archived: bool) -> None:
    stamps = rows.session_stamps.one(tx, session=session_id)
    if stamps is None:
        raise SessionNotFound(session_id)
    if stamps.deleted_at is not None:
        raise SessionDeleted(session_id)
    if (stamps.archived_at is not None) == archived:
        return
    head, now = heads.lock(tx, session_id, timestamps=0), now_ms()
    tx.defer(Q.set_archived, session=session_id, at=now if archived else None, now=now)
    open_turn.record_event(tx, head, "archive" if archived else "unarchive", None, {})


def delete(tx: Tx, runtime: Runtime, session_id: str) -> None:
    """A move to nothing. Rows stay until nothing reaches them; forks keep reading."""
    head, now = heads.lock(tx, session_id, timestamps=0), now_ms()
    if head.deleted_at is not None:
        raise SessionNotFound(session_id)
    for turn in rows.open_turns.all(tx, session=session_id):
        with recovery.naming(session_id, turn.id, turn.fence):
            if turn.status == "pending":
                requeue.entomb(tx, head, turn.id)
            else:
                head = recovery.abandon(tx, head, turn.id, "aborted")
    preflight.settle(tx, runtime, head, everywhere=True)
    head = heads.lock(tx, session_id, timestamps=0)
    moves.move_head(tx, head, None, kind="delete", reason=None)
    text = metadata.splice(_metadata(tx, session_id), _DELETED, str(now))
    _stamp(tx, session_id, now, now, text)


def undelete(tx: Tx, _: Runtime, session_id: str) -> None:
    head = heads.lock(tx, session_id, timestamps=0)
    if head.deleted_at is None:
        raise Refused(f"session {session_id} is not deleted")
    stamp = f'"{_DELETED}":{head.deleted_at}'
    text = _metadata(tx, session_id).replace("," + stamp, "").replace(stamp, "")
    _stamp(tx, session_id, None, now_ms(), text)
    moves.undo_last(tx, head, "undelete")


def _metadata(tx: Tx, session_id: str) -> str:
    stamps = rows.session_stamps.one(tx, session=session_id)
    if stamps is None:
        raise SessionNotFound(session_id)
    return stamps.metadata_json


def _stamp(tx: Tx, session_id: str, at: int | None, now: int, text: str) -> None:
    tx.defer(Q.set_deleted, session=session_id, at=at)
    tx.defer(Q.set_archived, session=session_id, at=at, now=now)
    tx.defer(Q.set_session_metadata, session=session_id, metadata=text, now=now)


# ---------------------------------------------------------------- names


def add_alias(
    tx: Tx, _: Runtime, session_id: str, name: str, namespace: str, turn_id: str | None, reason: str | None
) -> None:
    sessions.require(tx, session_id)
    if turn_id is not None and rows.parent_of.one(tx, turn=turn_id) is None:
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
        known = rows.alias.one(tx, namespace=namespace, name=name)
        assert known is not None
        if known != (session_id, turn_id):
            raise AliasTaken(namespace, name, known.session_id)


def remove_alias(tx: Tx, _: Runtime, session_id: str, name: str, namespace: str) -> None:
    if not tx.run(Q.delete_alias, namespace=namespace, name=name, session=session_id):
        raise SessionNotFound(name, f"no {namespace} of that name points here")
