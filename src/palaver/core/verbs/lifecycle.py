"""The life of a session: its title, metadata, columns and facts; the archive, deletion and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...base import arguments, exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue, Refused, ReservedKey, SessionDeleted, SessionNotFound
from ...keywords import UpdateKeywords
from .. import damage, heads, metadata, model_ref, rows, session_facts
from ..read import sessions
from ..runtime import Runtime
from ..session_facts import Facts
from ..settle import preflight, recovery, requeue
from ..turn import open_turn
from . import facts, moves

_DELETED = "deleted_at"


def set_title(tx: Tx, _: Runtime, session_id: str, title: str | None) -> None:
    head = heads.lock(tx, session_id, timestamps=0)
    tx.defer(Q.set_title, session=session_id, title=title)
    tx.defer(Q.unindex_titled, session=session_id)
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


class Changes(NamedTuple):
    """What a caller gave to `update`. `columns` are those of the session's row, by what they are called here."""

    facts: Facts
    columns: dict[str, str | None]

    @classmethod
    def of(cls, more: Any, given: UpdateKeywords) -> Changes:
        """What a caller gave, looked at; `more` are facts by other names."""
        arguments.options("update", given, {*UpdateKeywords.__annotations__, "facts"})
        named = {name: value for name, value in given.items() if name in session_facts.NAMES}
        exact_json.check_workspace(given.get("workspace"))
        told = session_facts.given("update", named, more)
        columns = {"workspace": given["workspace"]} if "workspace" in given else {}
        if "model" in given:
            columns["model"] = model_ref.stored(given["model"])
        return cls(told, columns)

    def told(self) -> dict[str, Any]:
        """As the event tells it: only what changes."""
        columns = {name: damage.parsed(text) if name == "model" else text for name, text in self.columns.items()}
        return ({"facts": self.facts} if self.facts else {}) | columns


def update(tx: Tx, _: Runtime, session_id: str, given: Changes) -> None:
    """Change facts and columns. What is so already is no event."""
    if not _news(tx, session_id, given).told():
        return
    head = heads.lock(tx, session_id, timestamps=0)
    row, news = _columns(tx, session_id), _news(tx, session_id, given)
    if news.told():
        facts.change(tx, session_id, row.created_at, news.facts)
        _set_columns(tx, session_id, news.columns)
        open_turn.record_event(tx, head, "update", None, news.told())


def _news(tx: Tx, session_id: str, given: Changes) -> Changes:
    """Of what was given, what is not so already."""
    row, known = _columns(tx, session_id), sessions.facts(tx, session_id)
    stands = {"workspace": row.workspace_root, "model": row.model_json}
    return Changes(
        {name: value for name, value in given.facts.items() if known.get(name) != value},
        {name: value for name, value in given.columns.items() if stands[name] != value},
    )


def _columns(tx: Tx, session_id: str) -> rows.ColumnsRow:
    row = rows.session_columns.one(tx, session=session_id)
    if row is None:
        raise SessionNotFound(session_id)
    if row.deleted_at is not None:
        raise SessionDeleted(session_id)
    return row


def _set_columns(tx: Tx, session_id: str, columns: dict[str, str | None]) -> None:
    now = now_ms()
    tx.defer(Q.touch_session, session=session_id, now=now)
    if "workspace" in columns:
        tx.defer(Q.set_workspace, session=session_id, workspace=columns["workspace"], now=now)
    if "model" in columns:
        tx.defer(Q.touch_session_model, session=session_id, model=columns["model"], now=now)


def set_ended(tx: Tx, _: Runtime, session_id: str, ended: bool, reason: str | None) -> None:
    """The application says that it is over, or that it is not."""
    head, now = heads.lock(tx, session_id, timestamps=0), now_ms()
    if head.deleted_at is not None:
        raise SessionDeleted(session_id)
    before = sessions.info(tx, session_id)
    if ended and before.ended_at is not None:
        if reason == before.end_reason:
            return
        raise Refused(f"session {session_id} has ended already ({before.end_reason or 'no reason'}); reopen it first")
    tx.defer(Q.set_ended, session=session_id, at=now if ended else None, reason=reason)
    open_turn.record_event(tx, head, "end" if ended else "reopen", None, {"reason": reason} if ended else {})


def end_at(tx: Tx, session_id: str, at: int, reason: str | None) -> None:
    """It was over at a time, by the word of who kept it until now; nothing, if that was said meanwhile."""
    head = heads.lock(tx, session_id, timestamps=0)
    if head.deleted_at is None and sessions.info(tx, session_id).ended_at is None:
        tx.defer(Q.set_ended, session=session_id, at=at, reason=reason)
        open_turn.record_event(tx, head, "end", None, {"reason": reason})


def set_archived(tx: Tx, _: Runtime, session_id: str, archived: bool) -> None:
    if _is_archived(tx, session_id) == archived:
        return
    head, now = heads.lock(tx, session_id, timestamps=0), now_ms()
    if _is_archived(tx, session_id) == archived:  # somebody was faster, or it was deleted since
        return
    tx.defer(Q.set_archived, session=session_id, at=now if archived else None, now=now)
    open_turn.record_event(tx, head, "archive" if archived else "unarchive", None, {})


def _is_archived(tx: Tx, session_id: str) -> bool:
    stamps = rows.session_stamps.one(tx, session=session_id)
    if stamps is None:
        raise SessionNotFound(session_id)
    if stamps.deleted_at is not None:
        raise SessionDeleted(session_id)
    return stamps.archived_at is not None


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
