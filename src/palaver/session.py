"""A session: a stable identity whose head points into the tree of turns. A handle only; the store holds the facts.

Every verb is one call into `core`, in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack

import palaver  # handles that are loaded when they are needed: `palaver.Turn` in a signature loads nothing

from .base import arguments, exact_json
from .base.clock import monotonic
from .base.exact_json import check_name, check_title
from .core import read, verbs
from .core.head_cache import FastPathMissed
from .core.read.transcript import Message
from .core.runtime import Runtime
from .db.engine import Tx
from .errors import BadValue, StoreFull, StoreReadOnly, TurnUnsealable
from .keywords import (
    ClaimKeywords,
    CommitKeywords,
    CompactKeywords,
    EnqueueKeywords,
    MessageLike,
    MessagesLike,
    TurnKeywords,
)
from .model import Event, Line, Queued, SessionInfo, TurnInfo
from .watcher import News

if TYPE_CHECKING:
    from .core.turn.message_input import NewMessage
    from .core.turn.options import TurnOptions

StoredMessage = Message
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Session:
    """One conversation. Cheap to make, holds no state; every property reads the store."""

    __slots__ = ("__weakref__", "_store", "id")  # what is set on it by mistake is refused, not lost

    id: str

    def __init__(self, store: palaver.Store, session_id: str) -> None:
        self._store = store
        self.id = arguments.text("a session's id", session_id)

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Session) and other.id == self.id and other._store is self._store

    def __hash__(self) -> int:
        return hash(self.id)

    # ------------------------------------------------------------ one call into core

    def _read(self, question: Callable[Concatenate[Tx, str, _P], _R], *given: _P.args, **more: _P.kwargs) -> _R:
        with self._store.db.read() as tx:
            return question(tx, self.id, *given, **more)

    def _write(self, verb: Callable[Concatenate[Tx, Runtime, str, _P], _R], *given: _P.args, **more: _P.kwargs) -> _R:
        """A verb that misses its fast path runs again carefully. A turn that a dead writer left and that cannot be
        sealed is set aside, and the verb goes on without it."""
        store = self._store
        while True:
            try:
                with store.db.write(hard=True) as tx:
                    return verb(tx, store._runtime, self.id, *given, **more)
            except FastPathMissed:
                more["carefully"] = True
            except TurnUnsealable as stuck:
                store._set_aside(stuck)

    # ------------------------------------------------------------ reading

    @property
    def info(self) -> SessionInfo:
        return self._read(read.sessions.info)

    @property
    def revision(self) -> int:
        """How often the head moved: what `expected=` is compared with. What a dead writer or another program left is
        put on the path first, so nobody is refused for rows it was shown: read the revision, then the messages."""
        self._settle()
        return self.info.revision

    def _settle(self) -> None:
        store = self._store
        if store.readonly:
            return
        with store.db.read() as tx:
            if read.unsettled.is_settled(tx, store._runtime, self.id):
                return
        try:
            self._write(verbs.preflight.settle_open)
        except (StoreFull, StoreReadOnly):  # reading goes on; whoever writes next meets the error
            pass

    @property
    def agent(self) -> str:
        return self.info.agent

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The application's own object, to be read; `update_metadata` changes it."""
        return MappingProxyType(self.info.metadata)

    def update_metadata(self, changes: Mapping[str, Any]) -> None:
        """Set some keys of the metadata; those that are None are taken away."""
        self._write(verbs.lifecycle.update_metadata, verbs.lifecycle.metadata_changes(changes))

    @property
    def title(self) -> str | None:
        return self.info.title

    @title.setter
    def title(self, title: str | None) -> None:
        check_title(title)
        with self._store.db.write() as tx:
            verbs.lifecycle.set_title(tx, self._store._runtime, self.id, title)

    def messages(self) -> list[dict[str, Any]]:
        """The transcript as UIMessages: the head's path, then what is open or was written by others."""
        return self._read(read.transcript.read_ui)

    def messages_json(self) -> str:
        """The same as JSON text, every stored byte as it was given."""
        return bytes(read.transcript.as_json(self._read(read.transcript.read))).decode()

    def transcript(self, turn: str | None = None) -> list[StoredMessage]:
        """The messages with their times, turns and texts as stored; with `turn`, those on the way to it."""
        return self._read(read.transcript.read_to, arguments.text_or_none("turn", turn))

    def snapshot(self, turn: str | None = None) -> tuple[list[StoredMessage], int]:
        """The transcript, and the number of the newest event in it: read on with `events(after=…)`. As for `revision`,
        what others left is put on the path first."""
        self._settle()
        with self._store.db.read() as tx:
            return read.transcript.read_to(tx, self.id, arguments.text_or_none("turn", turn)), read.events.newest(
                tx, self.id
            )

    def at(self, when: datetime | int) -> Moment:
        """The session as its head stood at a time (a datetime, or epoch ms)."""
        stamp = _stamp(when)
        head = self._read(read.turns.head_at, stamp)
        return Moment(self._store, head.turn_id, head.revision, stamp)

    def history(self) -> list[Line]:
        """Every move of the head, oldest first."""
        return self._read(read.events.history)

    def cursor(self) -> int:
        """The number of the newest event: where `follow(after=…)` begins if nothing of before is wanted."""
        return self._read(read.events.cursor)

    def events(self, after: int = 0, limit: int = 1_000) -> list[Event]:
        arguments.whole("after", after)
        arguments.whole("limit", limit, least=1)
        return self._read(read.events.read, after, limit)

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
                found = self._read(read.events.since, cursor, 1_000)
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
        return self._read(read.turns.on_path)

    def tree(self) -> list[TurnInfo]:
        """Every turn this session knows, strays and other branches too; parents before children."""
        return self._read(read.turns.tree)

    def strays(self) -> list[TurnInfo]:
        """Turns that lost a race or came too late; `fork(at=…)` rescues one."""
        return self._read(read.turns.strays)

    def waiting(self) -> list[TurnInfo]:
        """Turns that wait for an approval or a client's tool."""
        return self._read(read.turns.with_status, "waiting")

    def live(self) -> list[TurnInfo]:
        """Turns that somebody is writing."""
        return self._read(read.turns.with_status, "streaming")

    def messages_of(self, turn_id: str) -> list[StoredMessage]:
        """The messages that one turn lists."""
        with self._store.db.read() as tx:
            return read.transcript.read_turn(tx, arguments.text("turn_id", turn_id))

    def ancestors(self) -> list[str]:
        """Ids of the sessions this one came from, nearest first."""
        return self._read(read.sessions.ancestors)

    def descendants(self) -> list[str]:
        """Ids of the sessions that came from this one, nearest first."""
        return self._read(read.sessions.descendants)

    def aliases(self) -> list[tuple[str, str]]:
        return self._read(read.sessions.aliases)

    # ------------------------------------------------------------ turns

    def turn(
        self, messages: MessagesLike = None, expected: int | None = None, **given: Unpack[TurnKeywords]
    ) -> palaver.Turn:
        """Begin a turn. What the user said is on disk when this returns; chunks follow with `turn.write`. Also:
        `model`, `agent`, `system_prompt`, `trigger`, `snapshot_id`, `toolset`, `tools`, `permissions`."""
        arguments.revision(expected)
        options, prepared = _prepared(messages, given)
        new = verbs.begin.NewTurn(prepared, options, expected, self._store._register())
        return self._store._track(self._write(verbs.begin.begin, new))

    def commit(self, messages: MessagesLike, expected: int | None = None, **given: Unpack[CommitKeywords]) -> TurnInfo:
        """A whole turn at once: written, sealed and on the path in one transaction, or nothing at all. Without
        `expected` it follows whatever the head is. Also: `model`, `agent`, `trigger`, `snapshot_id`, `toolset`,
        `tools`, `permissions`."""
        arguments.revision(expected)
        options, prepared = _prepared(messages, given)
        if not prepared:
            raise BadValue("a turn that is committed whole needs at least one message")
        return self._write(verbs.commit.commit, verbs.commit.WholeTurn(prepared, options, expected))

    def regenerate(
        self, message: str | None = None, expected: int | None = None, **given: Unpack[TurnKeywords]
    ) -> palaver.Turn:
        """Answer again: a sibling turn that lists the same question. Without `message`, the last answer, or the last
        question if it has none."""
        return self._begin_sibling(message, None, expected, given)

    def edit(
        self, message: str, content: MessagesLike, expected: int | None = None, **given: Unpack[TurnKeywords]
    ) -> palaver.Turn:
        """Say it differently: a sibling turn with a new row, which the client still knows by the old id."""
        if content is None or content == []:
            raise BadValue("an edit needs something to say instead; rewind() takes a message back")
        return self._begin_sibling(message, content, expected, given)

    def _begin_sibling(
        self, message: str | None, content: MessagesLike, expected: int | None, given: TurnKeywords
    ) -> palaver.Turn:
        options, prepared = _prepared(content, given)
        arguments.text_or_none("message", message)
        arguments.revision(expected)
        if len(prepared) > 1:
            raise BadValue("an edit replaces one message by one message")
        new = verbs.begin.NewTurn(prepared, options, expected, self._store._register())
        return self._store._track(self._write(verbs.siblings.begin, message, new, content is not None))

    def resume(self, turn_id: str) -> palaver.Turn:
        """Continue a waiting turn: the same message, wherever it was left."""
        arguments.text("turn_id", turn_id)
        owner = self._store._register()
        self._write(verbs.recovery.recover_session)  # by itself: it stays done if the resume is refused
        return self._store._track(self._write(verbs.begin.resume, turn_id, owner), resumed=True)

    # ------------------------------------------------------------ the queue

    def enqueue(self, message: MessageLike, id: str | None = None, **given: Unpack[EnqueueKeywords]) -> Queued:
        """Send while a turn runs: the message waits its turn. The same id and content again is the same message."""
        options = verbs.options.TurnOptions(**given)
        options.refuse_snapshots()
        prepared = verbs.message_input.prepare(message, options.for_user())
        if len(prepared) != 1 or prepared[0].role != "user":
            raise BadValue("a queued message is one message of the user")
        if id is not None:
            prepared[0].client_id = check_name("message id", id) or None
        return self._write(verbs.queue.enqueue, prepared[0], options)

    def queue(self) -> list[Queued]:
        """What waits, first come first."""
        return self._read(verbs.queue.waiting)

    def claim(
        self, id: str | None = None, expected: int | None = None, **given: Unpack[ClaimKeywords]
    ) -> palaver.Turn | None:
        """Begin the first message in line, or the one with this id; None: nothing waits. Of many who claim, one gets
        it. Leave its block by an exception before any chunk came, and the message waits again, once."""
        arguments.text_or_none("id", id)
        arguments.revision(expected)
        options, owner = verbs.options.TurnOptions(**given), self._store._register()
        if options.trigger is not None:
            raise BadValue("a trigger belongs to the message: give it to enqueue()")
        turn = self._write(verbs.queue.claim, id, options, expected, owner)
        return None if turn is None else self._store._track(turn)

    def cancel(self, id: str) -> bool:
        """Take a queued message back. False: it was before. MessageFired: it is too late."""
        return self._write(verbs.queue.cancel, arguments.text("id", id))

    # ------------------------------------------------------------ what a model sees

    @property
    def permissions(self) -> palaver.SessionRules:
        """The session's own rules: add, remove, list, evaluate."""
        from .session_rules import SessionRules

        return SessionRules(self)

    def context(
        self,
        *,
        system: str | None = None,
        max_tokens: int | None = None,
        count: Callable[[dict[str, Any]], int] | None = None,
    ) -> palaver.Context:
        """What a model should see, as UIMessages: the system prompt (the latest, or this one), the latest summary, the
        turns it kept, and what follows. Open turns are not in it; `turn.context()` is for the turn itself. With
        `max_tokens`, what fits, newest first: `.left_out` says how many messages do not, `.compaction_due` when to
        compact. `count` tells how many tokens a UIMessage is; without it that is estimated."""
        from .aisdk import budget

        budget.check(max_tokens, count)
        found = self._read(read.context.of_session, arguments.text_or_none("system", system))
        return budget.fit(found, max_tokens, count)

    def model_messages(
        self,
        *,
        system: str | None = None,
        max_tokens: int | None = None,
        count: Callable[[dict[str, Any]], int] | None = None,
    ) -> list[dict[str, Any]]:
        """The same as the AI SDK's model messages."""
        from .aisdk.model_messages import convert

        return convert(self.context(system=system, max_tokens=max_tokens, count=count))

    def compact(
        self,
        summary: str,
        keep_from: str | TurnInfo | palaver.Turn | None = None,
        expected: int | None = None,
        **given: Unpack[CompactKeywords],
    ) -> TurnInfo:
        """Let a summary stand for everything before a turn (for everything, without one). The turns stay; only
        `context()` stops at the summary. Also: `compaction_type`, `model`, `provider`, `trigger`, `auto`, `overflow`,
        `metadata`, `tokens_before`, `tokens_after`, `summary_tokens`, `summarization_input_tokens`,
        `summarization_output_tokens`, `duration_ms`."""
        arguments.revision(expected)
        said = verbs.compaction.Compaction.of(summary, given)
        return self._write(verbs.compaction.compact, said, _name_of(keep_from), expected)

    def prune(self, before: str | TurnInfo | palaver.Turn | None = None, *, keep: int | None = None) -> int:
        """Tool outputs of the turns before one, or of all but the last few, are not shown to a model again; how many.
        The record stays as it is."""
        return self._write(verbs.pruning.prune, _name_of(before), keep)

    # ------------------------------------------------------------ moving the head

    def fork(
        self,
        at: str | TurnInfo | palaver.Turn | dict[str, Any] | None = None,
        *,
        title: str | None = None,
        copy: bool = False,
    ) -> Session:
        """A new session that shares everything up to a turn or a message; nothing is copied, unless readers who know
        only the contract must see it whole: `copy=True`."""
        check_title(title)
        return Session(self._store, self._write(verbs.create.fork, _name_of(at), title, arguments.flag("copy", copy)))

    def materialise(self) -> int:
        """Copy the messages that live in other sessions, for readers who know only the contract; how many."""
        return self._write(verbs.create.copy_shared)

    def rewind(
        self,
        to: str | TurnInfo | palaver.Turn | dict[str, Any],
        expected: int | None = None,
        reason: str | None = None,
    ) -> None:
        """Back to a turn, or to right after a message. Nothing is lost: undo() returns."""
        wanted = _name_of(to)
        exact_json.check_text("reason", reason)
        if wanted is None:
            raise BadValue("rewind needs a turn or a message to go back to")
        self._write(verbs.moves.rewind, wanted, arguments.revision(expected), reason)

    def undo(self, expected: int | None = None) -> None:
        """Take back the last move of the head; again, the one before it."""
        self._write(verbs.moves.undo, arguments.revision(expected))

    def redo(self, expected: int | None = None) -> None:
        self._write(verbs.moves.redo, arguments.revision(expected))

    def move(self, to: str | TurnInfo | palaver.Turn | None, expected: int, reason: str | None = None) -> None:
        """Point the head at any sealed turn of this session's tree, if it is still at revision `expected`."""
        wanted, why = _name_of(to), exact_json.check_text("reason", reason)
        self._write(verbs.moves.move, wanted, arguments.revision(expected), why)

    # ------------------------------------------------------------ life

    def archive(self) -> None:
        """Read-only, and out of lists. Turns already open may finish."""
        self._write(verbs.lifecycle.set_archived, True)

    def unarchive(self) -> None:
        self._write(verbs.lifecycle.set_archived, False)

    def delete(self) -> None:
        """Gone from every list; forks keep what they share. undelete() brings it back."""
        self._write(verbs.lifecycle.delete)

    def undelete(self) -> None:
        self._write(verbs.lifecycle.undelete)

    def alias(self, name: str, namespace: str = "alias", *, turn: str | None = None, reason: str | None = None) -> None:
        """A unique name, in its namespace, for this session (or for one of its turns)."""
        check_name("name", arguments.text("name", name))
        check_name("namespace", arguments.text("namespace", namespace))
        arguments.text_or_none("turn", turn)
        exact_json.check_text("reason", reason)
        self._write(verbs.lifecycle.add_alias, name, namespace, turn, reason)

    def unalias(self, name: str, namespace: str = "alias") -> None:
        self._write(verbs.lifecycle.remove_alias, arguments.text("name", name), arguments.text("namespace", namespace))

    def adopt(self) -> bool:
        """Make turns of everything another program wrote into this session; False if there was nothing."""
        return self._write(verbs.preflight.adopt_all)


class Moment:
    """A session as it was: the head at a time."""

    turn_id: str | None
    revision: int
    at: int

    def __init__(self, store: palaver.Store, turn_id: str | None, revision: int, at: int) -> None:
        self._store = store
        self.turn_id = turn_id
        self.revision = revision
        self.at = at

    def messages(self) -> list[dict[str, Any]]:
        with self._store.db.read() as tx:
            return read.transcript.as_ui(read.transcript.read_path(tx, self.turn_id))


def _prepared(messages: MessagesLike, given: TurnKeywords | CommitKeywords) -> tuple[TurnOptions, list[NewMessage]]:
    """What a caller gave for a turn: its options, and its messages as the rows they will be."""
    options = verbs.options.TurnOptions(**given) if given else verbs.options.PLAIN
    return options, verbs.message_input.prepare(messages, options.for_user() if given else None)


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


def _name_of(place: str | TurnInfo | palaver.Turn | dict[str, Any] | None) -> str | None:
    """The id of a turn or a message, given as such, or as what was read."""
    if place is None or isinstance(place, str):
        return place
    from .turn import name_of

    return name_of(place)
