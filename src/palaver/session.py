"""A session: a stable identity whose head points into the tree of turns. A handle only; the store holds the facts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from . import canonical
from .canonical import check_column
from .clock import now_ms
from .core import (
    events,
    heads,
    materialise,
    prelude,
    previews,
    recovery,
    refs,
    rows,
    sessions,
    transcript,
    turns,
    visibility,
    whole,
)
from .core.heads import Head
from .core.turns import Entry
from .db.database import Tx
from .db.queries import Q
from .errors import BadValue, MessageNotFound, Refused, SessionNotFound, TurnNotFound, TurnSealed
from .model import SEALED, Event, Line, SessionInfo, TurnInfo
from .recorder import Turn

if TYPE_CHECKING:
    from .store import Store

StoredMessage = transcript.Message


class Session:
    """One conversation. Cheap to make, holds no state; every property reads the store."""

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self.id = session_id

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Session) and other.id == self.id and other._store is self._store

    def __hash__(self) -> int:
        return hash(self.id)

    # ------------------------------------------------------------ reading

    @property
    def info(self) -> SessionInfo:
        with self._store.db.read() as tx:
            return sessions.info(sessions.get_row(tx, self.id))

    @property
    def revision(self) -> int:
        """How often the head moved: what `expected=` is compared with."""
        return self.info.revision

    @property
    def title(self) -> str | None:
        return self.info.title

    @title.setter
    def title(self, title: str | None) -> None:
        check_column("title", title)
        with self._store.db.write() as tx:
            sessions.set_title(tx, self.id, title)

    def messages(self) -> list[dict[str, Any]]:
        """The transcript as UIMessages: the head's path, then what is open or was written by others."""
        with self._store.db.read() as tx:
            stored = transcript.read(tx, self.id)
        return [message.ui() for message in stored]

    def messages_json(self) -> str:
        """The same as JSON text, every stored byte as it was given."""
        with self._store.db.read() as tx:
            return bytes(transcript.as_json(transcript.read(tx, self.id))).decode()

    def transcript(self, turn: str | None = None) -> list[StoredMessage]:
        """The messages with their times, turns and texts as stored; with `turn`, those on the way to it."""
        return self.snapshot(turn)[0]

    def snapshot(self, turn: str | None = None) -> tuple[list[StoredMessage], int]:
        """The transcript, and the number of the newest event in it: read on with `events(after=…)`."""
        with self._store.db.read() as tx:
            if turn is not None and tx.one(Q.parent_of, turn=turn) is None:
                raise TurnNotFound(turn)
            stored = transcript.read(tx, self.id) if turn is None else transcript.read_path(tx, turn)
            return stored, events.newest(tx, self.id)

    def at(self, when: datetime | int) -> Moment:
        """The session as its head stood at a time (a datetime, or epoch ms)."""
        stamp = round(when.timestamp() * 1000) if isinstance(when, datetime) else when
        with self._store.db.read() as tx:
            sessions.get_row(tx, self.id)
            row = tx.one(Q.head_at, session=self.id, at=stamp)
        if row is None:
            raise SessionNotFound(self.id, f"it did not exist at {stamp}")
        return Moment(self._store, row[0], row[1], stamp)

    def history(self) -> list[Line]:
        """Every move of the head, oldest first."""
        with self._store.db.read() as tx:
            sessions.get_row(tx, self.id)
            return events.history(tx, self.id)

    def events(self, after: int = 0, limit: int = 1_000) -> list[Event]:
        with self._store.db.read() as tx:
            sessions.get_row(tx, self.id)
            return events.read(tx, self.id, after, limit)

    def path(self) -> list[TurnInfo]:
        """The turns from the root to the head."""
        with self._store.db.read() as tx:
            head = tx.one(Q.read_head, session=self.id)
            found = [tx.one(Q.get_turn, turn=t) for t in visibility.path(tx, head[0] if head else None)]
        return [events.turn_info(row) for row in reversed(found) if row]

    def tree(self) -> list[TurnInfo]:
        """Every turn this session knows, strays and other branches too; parents before children."""
        with self._store.db.read() as tx:
            sessions.get_row(tx, self.id)
            return events.tree(tx, self.id)

    def strays(self) -> list[TurnInfo]:
        """Turns that lost a race or came too late; `fork(at=…)` rescues one."""
        with self._store.db.read() as tx:
            named = [canonical.parse(row[0])["turn"] for row in tx.all(Q.strays, session=self.id)]
            found = [tx.one(Q.get_turn, turn=turn_id) for turn_id in named]
        return [events.turn_info(row) for row in found if row]

    def waiting(self) -> list[TurnInfo]:
        """Turns that wait for an approval or a client's tool."""
        with self._store.db.read() as tx:
            named = [row[0] for row in tx.all(Q.open_turns, session=self.id) if row[2] == "waiting"]
            found = [tx.one(Q.get_turn, turn=turn_id) for turn_id in named]
        return [events.turn_info(row) for row in found if row]

    def live(self) -> list[TurnInfo]:
        """Turns that somebody is writing."""
        with self._store.db.read() as tx:
            named = [row[0] for row in tx.all(Q.open_turns, session=self.id) if row[2] == "streaming"]
            found = [tx.one(Q.get_turn, turn=turn_id) for turn_id in named]
        return [events.turn_info(row) for row in found if row]

    def messages_of(self, turn_id: str) -> list[StoredMessage]:
        """The messages that one turn lists."""
        with self._store.db.read() as tx:
            return transcript.read_turn(tx, turn_id)

    def ancestors(self) -> list[str]:
        """Ids of the sessions this one came from, nearest first."""
        with self._store.db.read() as tx:
            return sessions.ancestors(tx, self.id)

    def descendants(self) -> list[str]:
        """Ids of the sessions that came from this one, nearest first."""
        with self._store.db.read() as tx:
            return sessions.descendants(tx, self.id)

    def aliases(self) -> list[tuple[str, str]]:
        with self._store.db.read() as tx:
            return [(row[0], row[1]) for row in tx.all(Q.aliases_of, session=self.id)]

    # ------------------------------------------------------------ turns

    def turn(
        self,
        messages: Any = None,
        expected: int | None = None,
        *,
        model: Any = None,
        agent: str | None = None,
        system_prompt: str | None = None,
        trigger: dict[str, Any] | None = None,
        snapshot_id: str | None = None,
    ) -> Turn:
        """Begin a turn. What the user said is on disk when this returns; chunks follow with `turn.write`."""
        setup = _Setup(model, agent, system_prompt, trigger, snapshot_id)
        prepared = rows.prepare(messages, setup.for_user())
        owner = self._store.owner()
        with self._store.db.write(hard=True) as tx:
            head = prelude.ready(
                tx,
                self._store.room,
                self.id,
                expected=expected,
                stamps=len(prepared),
                preview=_preview(prepared),
                moving_on=True,
            )
            setup.keep_prompt(tx)
            state = turns.begin(tx, head, prepared, owner=owner, facts=setup.facts())
        return self._store.track(state)

    def commit(
        self,
        messages: Any,
        expected: int | None = None,
        *,
        model: Any = None,
        agent: str | None = None,
        trigger: dict[str, Any] | None = None,
    ) -> TurnInfo:
        """A whole turn at once: written, sealed and on the path in one transaction, or nothing at all. Without
        `expected` it follows whatever the head is."""
        setup = _Setup(model, agent, None, trigger, None)
        prepared = rows.prepare(messages, setup.for_user())
        if not prepared:
            raise BadValue("a turn that is committed whole needs at least one message")
        given = whole.Whole(self.id, prepared, expected, setup.facts(), _preview(prepared))
        try:
            with self._store.db.write(hard=True) as tx:
                return whole.commit_fast(tx, self._store.room, given)
        except whole.InTheWay:
            with self._store.db.write(hard=True) as tx:
                return whole.commit_carefully(tx, self._store.room, given)

    def regenerate(self, message: str | None = None, expected: int | None = None, **setup: Any) -> Turn:
        """Answer again: a sibling turn that lists the same question. Without `message`, the last answer, or the last
        question if it has none."""
        return self._begin_sibling(message, None, expected, _Setup(**setup) if setup else _Setup())

    def edit(self, message: str, content: Any, expected: int | None = None, **setup: Any) -> Turn:
        """Say it differently: a sibling turn with a new row, which the client still knows by the old id."""
        if content is None or content == []:
            raise BadValue("an edit needs something to say instead; rewind() takes a message back")
        return self._begin_sibling(message, content, expected, _Setup(**setup) if setup else _Setup())

    def _begin_sibling(self, message: str | None, content: Any, expected: int | None, setup: _Setup) -> Turn:
        prepared = rows.prepare(content, setup.for_user())
        if len(prepared) > 1:
            raise BadValue("an edit replaces one message by one message")
        owner = self._store.owner()
        with self._store.db.write(hard=True) as tx:
            head = prelude.ready(
                tx,
                self._store.room,
                self.id,
                expected=expected,
                stamps=len(prepared),
                preview=_preview(prepared),
                moving_on=True,
            )
            parent, before, known_as = _sibling_place(tx, head, message, editing=content is not None)
            for one in prepared:
                one.client_id = one.client_id or known_as
            old = head.turn_id
            head = heads.move(tx, head, parent, kind="begin", reason="edit" if prepared else "regenerate")
            head = heads.take(tx, self.id, stamps=len(prepared))
            setup.keep_prompt(tx)
            state = turns.begin(tx, head, prepared, owner=owner, facts=setup.facts(), references=before)
            visibility.restamp(tx, head, old)
        return self._store.track(state)

    def resume(self, turn_id: str) -> Turn:
        """Continue a waiting turn: the same message, wherever it was left."""
        owner = self._store.owner()
        with self._store.db.write(hard=True) as tx:  # by itself: it stays done if the resume is refused
            recovery.recover(tx, heads.take(tx, self.id, stamps=0), self._store.room.is_dead)
        with self._store.db.write(hard=True) as tx:
            head = heads.take(tx, self.id, stamps=0)
            if head.deleted_at is not None:  # an archived session's open turns may go on
                prelude.refuse_closed(head)
            state = turns.load(tx, turn_id)
            if state.session_id != self.id:
                raise TurnNotFound(turn_id, f"it belongs to session {state.session_id}")
            if state.status != "waiting":
                raise (
                    TurnSealed(turn_id, state.status)
                    if state.status in SEALED
                    else Refused(
                        f"turn {turn_id} is {state.status}: its writer is alive; only waiting turns are resumed"
                    )
                )
            if tx.run(Q.set_status, status="streaming", owner=owner, turn=turn_id, fence=state.fence) != 1:
                raise turns.sealed_error(tx, turn_id)
            state.fence += 1
            state.status = "streaming"
            head = heads.take(tx, self.id, stamps=0)
            turns.record_event(tx, head, "resume", state, {"turn": turn_id})
        return self._store.track(state, resumed=True)

    # ------------------------------------------------------------ moving the head

    def fork(
        self, at: str | TurnInfo | dict[str, Any] | None = None, *, title: str | None = None, copy: bool = False
    ) -> Session:
        """A new session that shares everything up to a turn or a message; nothing is copied, unless readers who know
        only the contract must see it whole: `copy=True`."""
        check_column("title", title)
        with self._store.db.write(hard=True) as tx:
            head = prelude.ready(tx, self._store.room, self.id, stamps=0, writing=False)
            if head.deleted_at is not None:
                prelude.refuse_closed(head)
            new = sessions.fork(tx, head, _name_of(at), title=title)
            if copy:
                materialise.materialise(tx, heads.take(tx, new, stamps=0))
        return Session(self._store, new)

    def materialise(self) -> int:
        """Copy the messages that live in other sessions, for readers who know only the contract; how many."""
        with self._store.db.write(hard=True) as tx:
            head = prelude.ready(tx, self._store.room, self.id, stamps=0)
            return materialise.materialise(tx, head)

    def rewind(
        self, to: str | TurnInfo | dict[str, Any], expected: int | None = None, reason: str | None = None
    ) -> None:
        """Back to a turn, or to right after a message. Nothing is lost: undo() returns."""
        wanted = _name_of(to)
        canonical.check_text("reason", reason)
        if wanted is None:
            raise BadValue("rewind needs a turn or a message to go back to")
        self._move(lambda tx, head: refs.rewind(tx, head, wanted, reason), expected)

    def undo(self, expected: int | None = None) -> None:
        """Take back the last move of the head; again, the one before it."""
        self._move(lambda tx, head: refs.undo(tx, head, None), expected)

    def redo(self, expected: int | None = None) -> None:
        self._move(lambda tx, head: refs.redo(tx, head, None), expected)

    def move(self, to: str | TurnInfo | None, expected: int, reason: str | None = None) -> None:
        """Point the head at any sealed turn of this session's tree, if it is still at revision `expected`."""
        wanted = _name_of(to)
        canonical.check_text("reason", reason)

        def work(tx: Tx, head: Head) -> Head:
            if wanted is not None and wanted not in {t.id for t in events.tree(tx, self.id) if t.sealed_at}:
                raise TurnNotFound(wanted, "it is not a sealed turn of this session; fork(at=…) reaches others")
            return refs.move(tx, head, wanted, kind="move", reason=reason)

        self._move(work, expected)

    def _move(self, work: Any, expected: int | None) -> None:
        with self._store.db.write(hard=True) as tx:
            head = prelude.ready(tx, self._store.room, self.id, expected=expected, stamps=0)
            work(tx, head)

    # ------------------------------------------------------------ life

    def archive(self) -> None:
        """Read-only, and out of lists. Turns already open may finish."""
        with self._store.db.write(hard=True) as tx:
            sessions.set_archived(tx, self.id, True)

    def unarchive(self) -> None:
        with self._store.db.write(hard=True) as tx:
            sessions.set_archived(tx, self.id, False)

    def delete(self) -> None:
        """Gone from every list; forks keep what they share. undelete() brings it back."""
        with self._store.db.write(hard=True) as tx:
            head = heads.take(tx, self.id, stamps=0)
            if head.deleted_at is not None:
                raise SessionNotFound(self.id)
            sessions.delete(tx, self._store.room, head)

    def undelete(self) -> None:
        with self._store.db.write(hard=True) as tx:
            sessions.undelete(tx, heads.take(tx, self.id, stamps=0))

    def alias(self, name: str, namespace: str = "alias", *, turn: str | None = None, reason: str | None = None) -> None:
        """A unique name, in its namespace, for this session (or for one of its turns)."""
        check_column("name", name)
        check_column("namespace", namespace)
        canonical.check_text("reason", reason)
        with self._store.db.write(hard=True) as tx:
            sessions.add_alias(tx, self.id, name, namespace, turn, reason)

    def unalias(self, name: str, namespace: str = "alias") -> None:
        with self._store.db.write(hard=True) as tx:
            if not tx.run(Q.delete_alias, namespace=namespace, name=name, session=self.id):
                raise SessionNotFound(name, f"no {namespace} of that name points here")

    def adopt(self) -> bool:
        """Make turns of everything another program wrote into this session; False if there was nothing."""
        with self._store.db.write(hard=True) as tx:
            head = heads.take(tx, self.id, stamps=0)
            prelude.refuse_closed(head)
            return prelude.settle(tx, self._store.room, head, everywhere=True).revision != head.revision


class Moment:
    """A session as it was: the head at a time."""

    def __init__(self, store: Store, turn_id: str | None, revision: int, at: int) -> None:
        self._store = store
        self.turn_id = turn_id
        self.revision = revision
        self.at = at

    def messages(self) -> list[dict[str, Any]]:
        with self._store.db.read() as tx:
            return [message.ui() for message in transcript.read_path(tx, self.turn_id)]


class _Setup:
    """What is in force for a turn, and where it is written: user message, response, or both."""

    def __init__(
        self,
        model: Any = None,
        agent: str | None = None,
        system_prompt: str | None = None,
        trigger: dict[str, Any] | None = None,
        snapshot_id: str | None = None,
    ) -> None:
        self.model = None if model is None else sessions.as_model(model)
        self.agent = check_column("agent", agent)
        self.prompt = canonical.check_text("system prompt", system_prompt)
        self.digest = None if system_prompt is None else sha256(system_prompt.encode()).hexdigest()
        self.trigger = trigger
        self.snapshot_id = snapshot_id

    def for_user(self) -> dict[str, Any]:
        given = {
            "model": self.model,
            "agent": self.agent,
            "snapshot_id": self.snapshot_id,
            "trigger": self.trigger,
        }
        return {key: value for key, value in given.items() if value is not None}

    def facts(self) -> dict[str, Any]:
        given = {"model": self.model, "agent": self.agent, "system_prompt_digest": self.digest}
        metadata = {key: value for key, value in given.items() if value is not None}
        facts: dict[str, Any] = {"metadata": metadata} if metadata else {}
        if self.model is not None:
            facts["model"] = self.model
        return facts

    def keep_prompt(self, tx: Tx) -> None:
        if self.prompt is not None:
            tx.later(Q.put_prompt, digest=self.digest, body=self.prompt, now=now_ms())


def _preview(prepared: Iterable[rows.NewMessage]) -> str | None:
    words = (m.text for m in prepared if m.role == "user")
    return previews.shorten(next((w for w in words if w), None))


def _name_of(place: str | TurnInfo | Turn | dict[str, Any] | None) -> str | None:
    if place is None or isinstance(place, str):
        return place
    if isinstance(place, TurnInfo | Turn):
        return place.id
    if isinstance(place, dict) and isinstance(place.get("id"), str):
        return str(place["id"])
    raise BadValue(f"a place is the id of a turn or a message, not {type(place).__name__}")


def _sibling_place(
    tx: Tx, head: Head, message: str | None, *, editing: bool
) -> tuple[str | None, list[Entry], str | None]:
    """(parent turn, the lines before the message, the id the client knows it by)."""
    if message is None:
        message = _last_message(tx, head)
        if message is None:  # asked, never answered: the same question again
            parent = tx.one(Q.parent_of, turn=head.turn_id)
            assert parent is not None and head.turn_id is not None
            return parent[0], refs.entries_of(tx, head.turn_id), None
    turn_id, message = refs.find_message(tx, head, message, on_path=True, in_tail=True)
    row = tx.one(Q.get_message, id=message)
    if row is None:
        raise MessageNotFound(message)
    if editing != (row[2] != "assistant"):
        verb = "edit changes what was said to the agent" if editing else "regenerate answers again"
        raise Refused(f"{verb}; message {message} is from the {row[2]}")
    entries = refs.entries_of(tx, turn_id)
    start = refs.start_of_message(entries, message)
    parent = tx.one(Q.parent_of, turn=turn_id)
    assert parent is not None
    return parent[0], entries[:start], entries[start].client_id or message


def _last_message(tx: Tx, head: Head) -> str | None:
    """The answer that the head's turn ends with; None if it ends with a question."""
    if head.turn_id is None:
        raise MessageNotFound("the last answer", "nothing was said yet")
    for entry in reversed(refs.entries_of(tx, head.turn_id)):
        if entry.kind == "message":
            row = tx.one(Q.get_message, id=entry.ref)
            return entry.ref if row is not None and row[2] == "assistant" else None
    return None
