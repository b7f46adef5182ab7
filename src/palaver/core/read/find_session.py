"""Finding one session that is not deleted: by its id, ours or the application's, or by an alias; and a turn by one."""

from __future__ import annotations

from ...db.engine import Tx
from ...errors import BadValue, SessionNotFound, TurnNotFound
from ...model import TurnInfo
from .. import rows
from . import turns
from .sessions import is_deleted, resolve


def by_id(tx: Tx, wanted: str, *, deleted: bool = False) -> str | None:
    """Our id; None if there is no such session, or it was deleted (unless that is asked for, too)."""
    ours = resolve(tx, wanted)
    stamps = rows.session_stamps.one(tx, session=ours) if ours else None
    return ours if stamps is not None and (deleted or stamps.deleted_at is None) else None


def by_name(tx: Tx, name: str, namespace: str | None) -> str:
    """By id, or by an alias: in one namespace, or in any if it is clear."""
    ours = by_id(tx, name) if namespace is None else None
    if ours is not None:
        return ours
    known = rows.aliases_named.all(tx, name=name)
    living = [each for each in known if namespace in (None, each.namespace) and not is_deleted(tx, each.session_id)]
    found = {each.session_id for each in living}
    if len(found) > 1:
        where = ", ".join(each.namespace for each in living)
        raise BadValue(f"{name!r} names {len(found)} sessions; say which namespace you mean, of {where}")
    if not found:
        raise SessionNotFound(name)
    return found.pop()


def turn_by_name(tx: Tx, name: str, namespace: str) -> TurnInfo:
    """The turn that an alias names."""
    alias = rows.alias.one(tx, namespace=namespace, name=name)
    if alias is None or is_deleted(tx, alias.session_id):
        raise TurnNotFound(name, f"no {namespace} of that name is there")
    if alias.turn_id is None:
        raise TurnNotFound(name, f"this {namespace} names session {alias.session_id} as a whole")
    row = rows.turn.one(tx, turn=alias.turn_id)
    if row is None:
        raise TurnNotFound(alias.turn_id)
    return turns.info(row)
