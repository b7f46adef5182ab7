"""New sessions: from nothing, from another one (a sub-agent's, one that goes on with it), and as a fork."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base import arguments, exact_json, ids
from ...base.clock import now_ms
from ...base.exact_json import check_name, check_title, check_workspace
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue, SessionDeleted, SessionExists, SessionNotFound
from .. import heads, metadata, model_ref, rows
from ..foreign import materialise
from ..read import places, sessions
from ..runtime import Runtime
from ..session_facts import Facts
from ..settle import preflight
from . import facts, moves, names


class NewSession(NamedTuple):
    """What a caller gave for a new session. Its model is looked at when it is made."""

    agent: str
    workspace: str | None
    model: Any
    title: str | None
    metadata: Any  # as text, once it is checked
    parent: str | None
    relation: Any
    call: str | None
    facts: Facts

    def checked(self) -> NewSession:
        if not check_name("agent", self.agent):
            raise BadValue("agent is the name of who talks; it cannot be empty")
        check_title(self.title)
        check_name("tool_call_id", self.call)
        check_workspace(self.workspace)
        return self._replace(metadata=_metadata(self.metadata), relation=_relation_of(self.relation, self.parent))


def create(tx: Tx, new: NewSession, session_id: str | None = None, *, at: int | None = None) -> str:
    """A new session; with a parent, one that came from there. `at`: when it was made, if not now."""
    parent = None if new.parent is None else _known(tx, new.parent)
    name = _name(tx, session_id)
    turn_id, message = _spawn_point(tx, parent)
    row = {"id": name, "agent": new.agent, "workspace": new.workspace, "model": model_ref.stored(new.model)}
    row |= {"parent": parent, "parent_message": message, "metadata": new.metadata}
    _insert(tx, row, heads.Origin(new.relation, parent, turn_id, new.call), new.facts, at=at, title=new.title)
    return name


def _relation_of(relation: Any, parent: str | None) -> str:
    """How a new session comes from its parent: what the caller said, or what goes without saying."""
    if relation is None:
        return "root" if parent is None else "spawn"
    if relation == "fork":
        raise BadValue("a fork is made by session.fork(), which shares what was said; create() begins with nothing")
    if relation not in ("spawn", "continue", "import"):
        raise BadValue(f"relation is 'spawn', 'continue' or 'import', not {arguments.shown(relation)}")
    if parent is None and relation != "import":
        raise BadValue(f"relation {relation!r} needs the parent that it comes from")
    return str(relation)


def _metadata(given: Any) -> str:
    text = metadata.as_given(given)
    if '"deleted_at"' in text and "deleted_at" in exact_json.parse(text):
        raise BadValue("session metadata key 'deleted_at' belongs to the store; leave it out")
    return text


def get_or_create(tx: Tx, wanted: str, new: NewSession) -> str:
    """The session that is known by an id, or a new one that is."""
    found = sessions.resolve(tx, wanted)
    if found is None:
        try:
            return create(tx, new, wanted)
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
    names.hold(tx, wanted)
    names.refuse_taken_id(tx, wanted)
    if ids.is_ours(ids.SESSION, wanted):
        return wanted
    new, (origin, scope) = ids.mint(ids.SESSION), sessions.CLIENT
    if not tx.run(Q.put_foreign_id, origin=origin, scope=scope, foreign=wanted, id=new):
        raise SessionExists(wanted)
    return new


def _spawn_point(tx: Tx, parent: str | None) -> tuple[str | None, str | None]:
    """The turn and the message that a session comes from: a turn that runs, else the head."""
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
    new = ids.mint(ids.SESSION)
    row = {"id": new, "agent": source.agent, "workspace": source.workspace_root, "model": source.model_json}
    row |= {"parent": home or session_id, "parent_message": message, "metadata": "{}"}
    origin, preview = heads.Origin("fork", session_id, turn_id), source.preview if message else None
    _insert(tx, row, origin, {}, turn_id=turn_id, last_at=head.last_at, title=title, preview=preview)
    if copy:
        materialise.materialise(tx, heads.lock(tx, new, timestamps=0))
    return new


def _insert(
    tx: Tx, row: dict[str, str | None], origin: heads.Origin, given: Facts, *, at: int | None = None, **head: Any
) -> None:
    """A new session: its row, its head, its facts."""
    session_id, now = str(row["id"]), now_ms() if at is None else at
    tx.defer(Q.insert_session, **row, now=now)
    kind = "fork" if origin.relation == "fork" else "create"
    heads.create(tx, session_id, origin, now=now, kind=kind, reason=f"agent {row['agent']}", **head)
    facts.begin(tx, session_id, now, given, relation=origin.relation, origin=origin.session_id)


def copy_shared(tx: Tx, runtime: Runtime, session_id: str) -> int:
    """Copy the messages of a fork that live in other sessions; how many."""
    return materialise.materialise(tx, preflight.ready(tx, runtime, session_id, timestamps=0))
