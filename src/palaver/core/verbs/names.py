"""Names of sessions and turns. What `find(name)` finds without a namespace is one session, so a name is given once:
as an id (ours or the application's) or as an alias, in whatever namespace.

Stores from before have names that mean several; they stay, and `find` says in which namespaces. Who gives a name holds
it first, until the commit: of two who give the same one at once, the second sees what the first wrote.
"""

from __future__ import annotations

from typing import NamedTuple

from ...base import arguments, exact_json
from ...base.clock import now_ms
from ...base.exact_json import check_name
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import AliasTaken, BadValue, SessionExists, SessionNotFound, TurnNotFound
from .. import rows
from ..read import sessions
from ..runtime import Runtime

BY_ID = "id"  # what stands for a namespace where an id has the name


def hold(tx: Tx, name: str) -> None:
    """Nobody else gives this name until the transaction ends. What is decided by it is read after this."""
    tx.defer(Q.hold_name, name=name)
    tx.defer(Q.let_go_of_name, name=name)


def refuse_taken_id(tx: Tx, wanted: str) -> None:
    """An id for a session to be: no session has it, and no alias says it."""
    holders = rows.holders_of_name.all(tx, name=wanted)
    for holder in holders:
        if holder.namespace == BY_ID:
            raise SessionExists(wanted)
    for holder in holders:
        raise AliasTaken(holder.namespace, wanted, holder.session_id)


class Alias(NamedTuple):
    """A name for a session, or for one of its turns."""

    name: str
    namespace: str
    turn_id: str | None
    reason: str | None

    def checked(self) -> Alias:
        check_name("name", arguments.text("name", self.name))
        check_name("namespace", arguments.text("namespace", self.namespace))
        arguments.text_or_none("turn", self.turn_id)
        exact_json.check_text("reason", self.reason)
        return self


def add_alias(tx: Tx, _: Runtime, session_id: str, alias: Alias) -> None:
    name, namespace, turn_id, reason = alias
    sessions.require(tx, session_id)
    if turn_id is not None and rows.parent_of.one(tx, turn=turn_id) is None:
        raise TurnNotFound(turn_id)
    if not name:
        raise BadValue("a name cannot be empty")
    hold(tx, name)
    added = tx.run(
        Q.insert_alias,
        namespace=namespace,
        name=name,
        session=session_id,
        turn=turn_id,
        now=now_ms(),
        reason=reason,
    )
    if added:
        _refuse_taken(tx, session_id, name)
        return
    known = rows.alias.one(tx, namespace=namespace, name=name)
    assert known is not None
    if known != (session_id, turn_id):
        raise AliasTaken(namespace, name, known.session_id)


def _refuse_taken(tx: Tx, session_id: str, name: str) -> None:
    """A name of another session, whatever namespace it has it in."""
    for holder in rows.holders_of_name.all(tx, name=name):
        if holder.session_id != session_id:
            raise AliasTaken(holder.namespace, name, holder.session_id)


def remove_alias(tx: Tx, _: Runtime, session_id: str, name: str, namespace: str) -> None:
    if not tx.run(Q.delete_alias, namespace=namespace, name=name, session=session_id):
        raise SessionNotFound(
            name, sentence=f"session {session_id} has no {namespace} {name!r}; nothing was taken away"
        )
