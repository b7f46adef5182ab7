"""Finding one session that is not deleted: by its id, ours or the application's, or by an alias."""

from __future__ import annotations

from ...db.engine import Tx
from ...errors import BadValue, SessionNotFound
from .. import rows
from .sessions import resolve


def by_id(tx: Tx, wanted: str, *, deleted: bool = False) -> str | None:
    """Our id; None if there is no such session, or it was deleted (unless that is asked for, too)."""
    ours = resolve(tx, wanted)
    stamps = rows.session_stamps.one(tx, session=ours) if ours else None
    return ours if stamps is not None and (deleted or stamps.deleted_at is None) else None


def by_name(tx: Tx, name: str, namespace: str | None) -> str:
    """By id, or by an alias: in one namespace, or in any if it is clear."""
    if namespace is None:
        ours = by_id(tx, name)
        if ours is not None:
            return ours
        named = {alias.session_id for alias in rows.aliases_named.all(tx, name=name)}
    else:
        named = {alias.session_id for alias in rows.alias.all(tx, namespace=namespace, name=name)}
    found = {each for each in named if not _is_deleted(tx, each)}
    if len(found) > 1:
        raise BadValue(f"{name!r} names {len(found)} sessions; say which namespace you mean")
    if not found:
        raise SessionNotFound(name)
    return found.pop()


def _is_deleted(tx: Tx, session_id: str) -> bool:
    stamps = rows.session_stamps.one(tx, session=session_id)
    return stamps is not None and stamps.deleted_at is not None
