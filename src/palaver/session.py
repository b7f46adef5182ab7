"""A session: a stable identity whose head points into the tree of turns. A handle only; the store holds the facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from .base import arguments, exact_json
from .base.clock import monotonic
from .base.exact_json import check_name, check_title
from .base.lazy_import import later
from .core import heads
from .core.foreign import adopt
from .core.heads import FastPathMissed, Head
from .core.read import events, transcript
from .core.settle import preflight
from .core.turn.options import TurnOptions
from .core.verbs import sessions
from .db.engine import Tx
from .db.queries import Q
from .errors import (
    BadValue,
    MessageNotFound,
    Refused,
    SessionNotFound,
    StoreFull,
    StoreReadOnly,
    TurnNotFound,
    TurnSealed,
    TurnUnsealable,
)
from .model import SEALED, Event, Line, Queued, SessionInfo, TurnInfo
from .watcher import News

if TYPE_CHECKING:
    from . import session_rules
    from .aisdk import model_messages
    from .core.foreign import hidden_stamps, materialise
    from .core.read import context, previews
    from .core.settle import recovery
    from .core.turn import message_input, open_turn, seal, triggers
    from .core.turn.open_turn import Entry
    from .core.verbs import begin, commit, compaction, moves, pruning, queue
    from .store import Store
    from .turn import Turn
else:
    later(
        globals(),
        ".aisdk.model_messages",
        ".session_rules",
        ".core.verbs.begin",
        ".core.verbs.compaction",
        ".core.read.context",
    )
    later(
        globals(),
        ".core.foreign.materialise",
        ".core.read.previews",
        ".core.verbs.pruning",
        ".core.verbs.queue",
        ".core.settle.recovery",
    )
    later(
        globals(),
        ".core.verbs.moves",
        ".core.turn.message_input",
        ".core.turn.seal",
        ".core.turn.triggers",
        ".core.turn.open_turn",
        ".core.foreign.hidden_stamps",
    )
    later(globals(), ".core.verbs.commit")

StoredMessage = transcript.Message
_PLAIN = TurnOptions()
_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def _goes_on(verb: _Verb) -> _Verb:
    """A turn that a dead writer left and that cannot be sealed is set aside, and the verb goes on without it."""

    @wraps(verb)
    def _again(self: Session, *args: Any, **given: Any) -> Any:
        while True:
            try:
                return verb(self, *args, **given)
            except TurnUnsealable as stuck:
                self._store._set_aside(stuck)

    return _again  # type: ignore[return-value]


class Session:
    """One conversation. Cheap to make, holds no state; every property reads the store."""

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self.id = arguments.text("a session's id", session_id)

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
        """How often the head moved: what `expected=` is compared with. What a dead writer or another program left is
        put on the path first, so nobody is refused for rows it was shown: read the revision, then the messages."""
        self._settle()
        return self.info.revision

    @_goes_on
    def _settle(self) -> None:
        if self._store.readonly:
            return
        with self._store.db.read() as tx:
            if preflight.is_settled(tx, self._store._runtime, self.id):
                return
        try:
            with self._store.db.write(hard=True) as tx:
                preflight.settle_open(tx, self._store._runtime, self.id)
        except (StoreFull, StoreReadOnly):  # reading goes on; whoever writes next meets the error
            pass

    @property
    def title(self) -> str | None:
        return self.info.title

    @title.setter
    def title(self, title: str | None) -> None:
        check_title(title)
        with self._store.db.write() as tx:
            sessions.set_title(tx, self.id, title)

    def messages(self) -> list[dict[str, Any]]:
        """The transcript as UIMessages: the head's path, then what is open or was written by others."""
        with self._store.db.read() as tx:
            return transcript.read_ui(tx, self.id)

    def messages_json(self) -> str:
        """The same as JSON text, every stored byte as it was given."""
        with self._store.db.read() as tx:
            return bytes(transcript.as_json(transcript.read(tx, self.id))).decode()

    def transcript(self, turn: str | None = None) -> list[StoredMessage]:
        """The messages with their times, turns and texts as stored; with `turn`, those on the way to it."""
        with self._store.db.read() as tx:
            return self._stored(tx, turn)

    def snapshot(self, turn: str | None = None) -> tuple[list[StoredMessage], int]:
        """The transcript, and the number of the newest event in it: read on with `events(after=…)`. As for `revision`,
        what others left is put on the path first."""
        self._settle()
        with self._store.db.read() as tx:
            return self._stored(tx, turn), events.newest(tx, self.id)

    def _stored(self, tx: Tx, turn: str | None) -> list[StoredMessage]:
        if turn is None:
            return transcript.read(tx, self.id)
        if tx.one(Q.parent_of, turn=arguments.text("turn", turn)) is None:
            raise TurnNotFound(turn)
        return transcript.read_to(tx, turn)

    def at(self, when: datetime | int) -> Moment:
        """The session as its head stood at a time (a datetime, or epoch ms)."""
        stamp = _stamp(when)
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

    def cursor(self) -> int:
        """The number of the newest event: where `follow(after=…)` begins if nothing of before is wanted."""
        with self._store.db.read() as tx:
            sessions.get_row(tx, self.id)
            return events.newest(tx, self.id)

    def events(self, after: int = 0, limit: int = 1_000) -> list[Event]:
        arguments.whole("after", after)
        arguments.whole("limit", limit, least=1)
        with self._store.db.read() as tx:
            sessions.get_row(tx, self.id)
            return events.read(tx, self.id, after, limit)

    def follow(self, after: int | None = None, *, timeout: float | None = None) -> Iterator[Event]:
        """Events as they come, whoever writes, in this process or another; `after=None`: from now on. A cursor older
        than what was trimmed gets one `reset` (read `snapshot()` again), then what follows it. It ends when nothing
        came for `timeout` seconds."""
        arguments.seconds("timeout", timeout)
        return self._follow(self.cursor() if after is None else arguments.whole("after", after), timeout)

    def _follow(self, cursor: int, timeout: float | None) -> Iterator[Event]:
        with News(self._store._watcher, self.id) as news:
            quiet_since = monotonic()
            while True:
                with self._store.db.read() as tx:
                    found = events.since(tx, self.id, cursor, 1_000)
                for event in found:
                    cursor = event.seq
                    yield event
                if found:
                    quiet_since = monotonic()
                    continue
                left = None if timeout is None else timeout - (monotonic() - quiet_since)
                if left is not None and left <= 0:
                    return
                news.wait(left)

    def path(self) -> list[TurnInfo]:
        """The turns from the root to the head."""
        with self._store.db.read() as tx:
            head = tx.one(Q.read_head, session=self.id)
            found = [tx.one(Q.get_turn, turn=t) for t in hidden_stamps.path(tx, head[0] if head else None)]
        return [events.turn_info(row) for row in reversed(found) if row]

    def tree(self) -> list[TurnInfo]:
        """Every turn this session knows, strays and other branches too; parents before children."""
        with self._store.db.read() as tx:
            sessions.get_row(tx, self.id)
            return events.tree(tx, self.id)

    def strays(self) -> list[TurnInfo]:
        """Turns that lost a race or came too late; `fork(at=…)` rescues one."""
        with self._store.db.read() as tx:
            found = [tx.one(Q.get_turn, turn=turn_id) for turn_id in events.strays(tx, self.id)]
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
            return transcript.read_turn(tx, arguments.text("turn_id", turn_id))

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

    @_goes_on
    def turn(self, messages: Any = None, expected: int | None = None, **given: Any) -> Turn:
        """Begin a turn. What the user said is on disk when this returns; chunks follow with `turn.write`. Also:
        `model`, `agent`, `system_prompt`, `trigger`, `snapshot_id`, `toolset`, `tools`, `permissions`."""
        arguments.revision(expected)
        setup = TurnOptions(**given) if given else _PLAIN
        prepared = message_input.prepare(messages, setup.for_user() if given else None)
        facts, runtime = setup.facts() if given else {}, self._store._runtime
        wanted = begin.Begin(
            *(self.id, prepared, expected, self._store._register(), facts, setup.granted, setup.keep_prompt),
        )
        try:
            with self._store.db.write(hard=True) as tx:
                state = begin.begin_fast(tx, runtime, wanted)
        except FastPathMissed:
            with self._store.db.write(hard=True) as tx:
                state = begin.begin_carefully(tx, runtime, wanted)
        return self._store._track(state)

    @_goes_on
    def commit(self, messages: Any, expected: int | None = None, **given: Any) -> TurnInfo:
        """A whole turn at once: written, sealed and on the path in one transaction, or nothing at all. Without
        `expected` it follows whatever the head is. Also: `model`, `agent`, `trigger`, `snapshot_id`, `toolset`,
        `tools`, `permissions`."""
        arguments.revision(expected)
        setup = TurnOptions(**given) if given else _PLAIN
        prepared = message_input.prepare(messages, setup.for_user() if given else None)
        if not prepared:
            raise BadValue("a turn that is committed whole needs at least one message")
        runtime = self._store._runtime
        turn = commit.WholeTurn(self.id, prepared, expected, setup.facts() if given else {}, setup.rules)
        try:
            with self._store.db.write(hard=True) as tx:
                info, tip = commit.commit_fast(tx, runtime, turn)
        except FastPathMissed:
            with self._store.db.write(hard=True) as tx:
                return commit.commit_carefully(tx, runtime, turn)
        runtime.head_cache.put(self.id, tip)
        return info

    def regenerate(self, message: str | None = None, expected: int | None = None, **setup: Any) -> Turn:
        """Answer again: a sibling turn that lists the same question. Without `message`, the last answer, or the last
        question if it has none."""
        return self._begin_sibling(message, None, expected, TurnOptions(**setup) if setup else TurnOptions())

    def edit(self, message: str, content: Any, expected: int | None = None, **setup: Any) -> Turn:
        """Say it differently: a sibling turn with a new row, which the client still knows by the old id."""
        if content is None or content == []:
            raise BadValue("an edit needs something to say instead; rewind() takes a message back")
        return self._begin_sibling(message, content, expected, TurnOptions(**setup) if setup else TurnOptions())

    @_goes_on
    def _begin_sibling(self, message: str | None, content: Any, expected: int | None, setup: TurnOptions) -> Turn:
        arguments.text_or_none("message", message)
        arguments.revision(expected)
        prepared = message_input.prepare(content, setup.for_user())
        if len(prepared) > 1:
            raise BadValue("an edit replaces one message by one message")
        owner = self._store._register()
        with self._store.db.write(hard=True) as tx:
            head = preflight.ready(
                tx,
                self._store._runtime,
                self.id,
                expected=expected,
                timestamps=len(prepared),
                preview=previews.of(prepared),
                moving_on=True,
            )
            parent, before, known_as = _sibling_place(tx, head, message, editing=content is not None)
            for one in prepared:
                one.client_id = one.client_id or known_as
            old = head.turn_id
            head = heads.move(tx, head, parent, kind="begin", reason="edit" if prepared else "regenerate")
            head = heads.lock(tx, self.id, timestamps=len(prepared))
            setup.keep_prompt(tx)
            facts = setup.facts() | setup.snapshot(tx, self.id)
            state = open_turn.begin(tx, head, prepared, owner=owner, facts=facts, references=before)
            triggers.deliver(tx, self.id, state.id, setup.trigger, triggers.payload(prepared))
            hidden_stamps.restamp(tx, head, old)
        return self._store._track(state)

    @_goes_on
    def resume(self, turn_id: str) -> Turn:
        """Continue a waiting turn: the same message, wherever it was left."""
        arguments.text("turn_id", turn_id)
        owner = self._store._register()
        with self._store.db.write(hard=True) as tx:  # by itself: it stays done if the resume is refused
            recovery.recover(tx, heads.lock(tx, self.id, timestamps=0), self._store._runtime.is_dead)
        with self._store.db.write(hard=True) as tx:
            head = heads.lock(tx, self.id, timestamps=0)
            if head.deleted_at is not None:  # an archived session's open turns may go on
                preflight.refuse_closed(head)
            state = open_turn.load(tx, turn_id)
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
                raise open_turn.sealed_error(tx, turn_id)
            state.fence += 1
            state.status = "streaming"
            head = heads.lock(tx, self.id, timestamps=0)
            open_turn.record_event(tx, head, "resume", state, {"turn": turn_id})
        return self._store._track(state, resumed=True)

    # ------------------------------------------------------------ the queue

    def enqueue(self, message: Any, id: str | None = None, **given: Any) -> Queued:
        """Send while a turn runs: the message waits its turn. The same id and content again is the same message."""
        setup = TurnOptions(**given)
        setup.refuse_snapshots()
        prepared = message_input.prepare(message, setup.for_user())
        if len(prepared) != 1 or prepared[0].role != "user":
            raise BadValue("a queued message is one message of the user")
        if id is not None:
            prepared[0].client_id = check_name("message id", id) or None
        with self._store.db.write(hard=True) as tx:
            setup.keep_prompt(tx)
            place = queue.enqueue(tx, self.id, prepared[0], setup.facts())
            listed = [message.ui() for message in transcript.read_turn(tx, place.turn_id)]
        (shown,) = [message for message in listed if message["id"] == place.id]
        return Queued(place.id, place.turn_id, place.queued_at, shown)

    def queue(self) -> list[Queued]:
        """What waits, first come first."""
        with self._store.db.read() as tx:
            sessions.get_row(tx, self.id)
            found = queue.waiting(tx, self.id)
        return [Queued(place.id, place.turn_id, place.queued_at, message.ui()) for place, message in found]

    @_goes_on
    def claim(self, id: str | None = None, expected: int | None = None, **given: Any) -> Turn | None:
        """Begin the first message in line, or the one with this id; None: nothing waits. Of many who claim, one gets
        it. Leave its block by an exception before any chunk came, and the message waits again, once."""
        arguments.text_or_none("id", id)
        arguments.revision(expected)
        setup, owner = TurnOptions(**given), self._store._register()
        if setup.trigger is not None:
            raise BadValue("a trigger belongs to the message: give it to enqueue()")
        with self._store.db.write(hard=True) as tx:
            facts = setup.facts() | setup.snapshot(tx, self.id)
            state = queue.claim(tx, self._store._runtime, self.id, id, owner=owner, expected=expected, facts=facts)
            if state is None:
                return None
            setup.keep_prompt(tx)
        return self._store._track(state)

    @_goes_on
    def cancel(self, id: str) -> bool:
        """Take a queued message back. False: it was before. MessageFired: it is too late."""
        with self._store.db.write(hard=True) as tx:
            return queue.cancel(tx, self._store._runtime, self.id, arguments.text("id", id))

    # ------------------------------------------------------------ what a model sees

    @property
    def permissions(self) -> session_rules.SessionRules:
        """The session's own rules: add, remove, list, evaluate."""
        return session_rules.SessionRules(self._store, self.id)

    def context(self, *, system: str | None = None) -> list[dict[str, Any]]:
        """What a model should see, as UIMessages: the system prompt (the latest, or this one), the latest summary, the
        turns it kept, and what follows. Open turns are not in it; `turn.context()` is for the turn itself."""
        arguments.text_or_none("system", system)
        with self._store.db.read() as tx:
            head = tx.one(Q.read_head, session=self.id)
            sessions.get_row(tx, self.id)
            if head is not None and head[5] is not None:
                return []
            return context.assemble(tx, head[0] if head else None, transcript.read_loose(tx, self.id), system)

    def model_messages(self, *, system: str | None = None) -> list[dict[str, Any]]:
        """The same as the AI SDK's model messages."""
        return model_messages.convert(self.context(system=system))

    @_goes_on
    def compact(
        self, summary: str, keep_from: str | TurnInfo | None = None, expected: int | None = None, **given: Any
    ) -> TurnInfo:
        """Let a summary stand for everything before a turn (for everything, without one). The turns stay; only
        `context()` stops at the summary. Also: `compaction_type`, `model`, `provider`, `trigger`, `auto`, `overflow`,
        `metadata`, `tokens_before`, `tokens_after`, `summary_tokens`, `summarization_input_tokens`,
        `summarization_output_tokens`, `duration_ms`."""
        arguments.revision(expected)
        said = compaction.Compaction.of(summary, given)
        with self._store.db.write(hard=True) as tx:
            head = preflight.ready(tx, self._store._runtime, self.id, expected=expected, timestamps=1, moving_on=True)
            head = adopt.adopt_beside(tx, head) if expected is None else head
            turn = compaction.write(tx, head, said, compaction.scope(tx, head, _name_of(keep_from)))
            head = seal.advance_head(tx, head, turn, kind="compact")
            if head.open_turns:
                hidden_stamps.hide_open_turns(tx, head)
            row = tx.one(Q.get_turn, turn=turn.id)
        assert row is not None
        return events.turn_info(row)

    @_goes_on
    def prune(self, before: str | TurnInfo | None = None, *, keep: int | None = None) -> int:
        """Tool outputs of the turns before one, or of all but the last few, are not shown to a model again; how many.
        The record stays as it is."""
        with self._store.db.write(hard=True) as tx:
            head = preflight.ready(tx, self._store._runtime, self.id, timestamps=0)
            return pruning.prune(tx, head, _name_of(before), keep)

    # ------------------------------------------------------------ moving the head

    @_goes_on
    def fork(
        self, at: str | TurnInfo | dict[str, Any] | None = None, *, title: str | None = None, copy: bool = False
    ) -> Session:
        """A new session that shares everything up to a turn or a message; nothing is copied, unless readers who know
        only the contract must see it whole: `copy=True`."""
        check_title(title)
        arguments.flag("copy", copy)
        with self._store.db.write(hard=True) as tx:
            head = preflight.ready(tx, self._store._runtime, self.id, timestamps=0, writing=False)
            if head.deleted_at is not None:
                preflight.refuse_closed(head)
            new = sessions.fork(tx, head, _name_of(at), title=title)
            if copy:
                materialise.materialise(tx, heads.lock(tx, new, timestamps=0))
        return Session(self._store, new)

    @_goes_on
    def materialise(self) -> int:
        """Copy the messages that live in other sessions, for readers who know only the contract; how many."""
        with self._store.db.write(hard=True) as tx:
            head = preflight.ready(tx, self._store._runtime, self.id, timestamps=0)
            return materialise.materialise(tx, head)

    def rewind(
        self, to: str | TurnInfo | dict[str, Any], expected: int | None = None, reason: str | None = None
    ) -> None:
        """Back to a turn, or to right after a message. Nothing is lost: undo() returns."""
        wanted = _name_of(to)
        exact_json.check_text("reason", reason)
        if wanted is None:
            raise BadValue("rewind needs a turn or a message to go back to")
        self._move(lambda tx, head: moves.rewind(tx, head, wanted, reason), expected)

    def undo(self, expected: int | None = None) -> None:
        """Take back the last move of the head; again, the one before it."""
        self._move(lambda tx, head: moves.undo(tx, head, None), expected)

    def redo(self, expected: int | None = None) -> None:
        self._move(lambda tx, head: moves.redo(tx, head, None), expected)

    def move(self, to: str | TurnInfo | None, expected: int, reason: str | None = None) -> None:
        """Point the head at any sealed turn of this session's tree, if it is still at revision `expected`."""
        wanted = _name_of(to)
        exact_json.check_text("reason", reason)

        def work(tx: Tx, head: Head) -> Head:
            if wanted is not None and wanted not in {t.id for t in events.tree(tx, self.id) if t.sealed_at}:
                raise TurnNotFound(wanted, "it is not a sealed turn of this session; fork(at=…) reaches others")
            return moves.move(tx, head, wanted, kind="move", reason=reason)

        self._move(work, expected)

    @_goes_on
    def _move(self, work: Any, expected: int | None) -> None:
        arguments.revision(expected)
        with self._store.db.write(hard=True) as tx:
            head = preflight.ready(tx, self._store._runtime, self.id, expected=expected, timestamps=0)
            work(tx, head)

    # ------------------------------------------------------------ life

    def archive(self) -> None:
        """Read-only, and out of lists. Turns already open may finish."""
        with self._store.db.write(hard=True) as tx:
            sessions.set_archived(tx, self.id, True)

    def unarchive(self) -> None:
        with self._store.db.write(hard=True) as tx:
            sessions.set_archived(tx, self.id, False)

    @_goes_on
    def delete(self) -> None:
        """Gone from every list; forks keep what they share. undelete() brings it back."""
        with self._store.db.write(hard=True) as tx:
            head = heads.lock(tx, self.id, timestamps=0)
            if head.deleted_at is not None:
                raise SessionNotFound(self.id)
            sessions.delete(tx, self._store._runtime, head)

    def undelete(self) -> None:
        with self._store.db.write(hard=True) as tx:
            sessions.undelete(tx, heads.lock(tx, self.id, timestamps=0))

    def alias(self, name: str, namespace: str = "alias", *, turn: str | None = None, reason: str | None = None) -> None:
        """A unique name, in its namespace, for this session (or for one of its turns)."""
        check_name("name", arguments.text("name", name))
        check_name("namespace", arguments.text("namespace", namespace))
        arguments.text_or_none("turn", turn)
        exact_json.check_text("reason", reason)
        with self._store.db.write(hard=True) as tx:
            sessions.add_alias(tx, self.id, name, namespace, turn, reason)

    def unalias(self, name: str, namespace: str = "alias") -> None:
        arguments.text("name", name)
        arguments.text("namespace", namespace)
        with self._store.db.write(hard=True) as tx:
            if not tx.run(Q.delete_alias, namespace=namespace, name=name, session=self.id):
                raise SessionNotFound(name, f"no {namespace} of that name points here")

    @_goes_on
    def adopt(self) -> bool:
        """Make turns of everything another program wrote into this session; False if there was nothing."""
        with self._store.db.write(hard=True) as tx:
            head = heads.lock(tx, self.id, timestamps=0)
            preflight.refuse_closed(head)
            return preflight.settle_open(tx, self._store._runtime, self.id, everywhere=True)


class Moment:
    """A session as it was: the head at a time."""

    def __init__(self, store: Store, turn_id: str | None, revision: int, at: int) -> None:
        self._store = store
        self.turn_id = turn_id
        self.revision = revision
        self.at = at

    def messages(self) -> list[dict[str, Any]]:
        with self._store.db.read() as tx:
            return transcript.as_ui(transcript.read_path(tx, self.turn_id))


def _stamp(when: datetime | int) -> int:
    """A time in epoch milliseconds."""
    if not isinstance(when, datetime):
        if type(when) is not int or abs(when) > arguments.LARGEST:
            raise BadValue(
                f"a time is a datetime, or epoch milliseconds as a whole number, not {arguments.shown(when)}"
            )
        return when
    try:
        return round(when.timestamp() * 1000)
    except (OverflowError, ValueError):  # a time without a zone, at the first or last day there is
        raise BadValue(f"{when} is no time that this machine knows; give it with a time zone") from None


def _name_of(place: str | TurnInfo | Turn | dict[str, Any] | None) -> str | None:
    from .turn import name_of

    return place if place is None or isinstance(place, str) else name_of(place)


def _sibling_place(
    tx: Tx, head: Head, message: str | None, *, editing: bool
) -> tuple[str | None, list[Entry], str | None]:
    """(parent turn, the lines before the message, the id the client knows it by)."""
    if message is None:
        said = _last_said(tx, head)
        message = _last_message(tx, said)
        if message is None:  # asked, never answered: the same question again
            parent = tx.one(Q.parent_of, turn=said)
            assert parent is not None
            return parent[0], moves.entries_of(tx, said), None
    turn_id, message = moves.find_message(tx, head, message, on_path=True, in_tail=True)
    row = tx.one(Q.get_message, id=message)
    if row is None:
        raise MessageNotFound(message)
    if (tx.one(Q.get_turn, turn=turn_id) or ("",) * 4)[3] == compaction.KIND:
        raise Refused(f"message {message} is a summary; it was neither asked nor answered")
    if editing != (row[2] != "assistant"):
        verb = "edit changes what was said to the agent" if editing else "regenerate answers again"
        raise Refused(f"{verb}; message {message} is from the {row[2]}")
    entries = moves.entries_of(tx, turn_id)
    start = moves.start_of_message(entries, message)
    parent = tx.one(Q.parent_of, turn=turn_id)
    assert parent is not None
    return parent[0], entries[:start], entries[start].client_id or message


def _last_said(tx: Tx, head: Head) -> str:
    """The last turn in which something was said: a summary is not."""
    for turn_id, kind in reversed(tx.all(Q.path_kinds, turn=head.turn_id)) if head.turn_id else ():
        if kind != compaction.KIND:
            return str(turn_id)
    raise MessageNotFound("the last answer", "nothing was said yet")


def _last_message(tx: Tx, turn_id: str) -> str | None:
    """The answer that a turn ends with; None if it ends with a question."""
    for entry in reversed(moves.entries_of(tx, turn_id)):
        if entry.kind == "message":
            row = tx.one(Q.get_message, id=entry.ref)
            return entry.ref if row is not None and row[2] == "assistant" else None
    return None
