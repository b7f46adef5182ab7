"""A session: a stable identity whose head points into the tree of turns. A handle only; the store holds the facts.

Every verb is one call into `core`, in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, Unpack, overload

from msgspec import UNSET

import palaver  # handles that are loaded when they are needed: `palaver.Turn` in a signature loads nothing

from . import marks
from .base import arguments, exact_json
from .base.exact_json import check_title
from .core import read, verbs
from .core.head_cache import FastPathMissed
from .core.read.transcript import Message
from .core.runtime import Runtime
from .core.upkeep import every_session
from .db.engine import Tx
from .errors import BadValue, SessionNotFound, StoreFull, StoreReadOnly, TurnUnsealable
from .keywords import (
    ClaimKeywords,
    CommitKeywords,
    CompactKeywords,
    Count,
    EnqueueKeywords,
    MessageLike,
    MessagesLike,
    TurnKeywords,
    UpdateKeywords,
)
from .model import Event, Line, Queued, SessionInfo, TurnInfo, UsageEntry, Window, WindowText

if TYPE_CHECKING:
    from .core.turn.open_turn import OpenTurn
    from .core.verbs.begin import NewTurn

StoredMessage = Message
MessageMark = str | dict[str, Any] | StoredMessage | None
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
                    done = verb(tx, store._runtime, self.id, *given, **more)
                store._background.index_soon()
                return done
            except FastPathMissed:
                more["carefully"] = True
            except TurnUnsealable as stuck:
                every_session.set_aside(store.db, stuck)

    def _owner(self) -> str:
        """The name of this store as a writer; from now on others see that it lives."""
        return self._store._background.owner.register()

    def _opened(self, state: OpenTurn, *, resumed: bool = False) -> palaver.Turn:
        """A turn that this process has open from now on."""
        return self._store._background.turns.track(state, resumed=resumed)

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
    def facts(self) -> Mapping[str, str]:
        """What it belongs to (`project`, `user` …), to be read; `update` changes it."""
        return MappingProxyType(self._read(read.sessions.facts))

    @property
    def title(self) -> str | None:
        """What a person calls it; `session.title = "…"` sets it, None takes it away."""
        return self.info.title

    @title.setter
    def title(self, title: str | None) -> None:
        check_title(title)
        with self._store.db.write() as tx:
            verbs.lifecycle.set_title(tx, self._store._runtime, self.id, title)

    @overload
    def messages(
        self, before: MessageMark = None, after: MessageMark = None, limit: int | None = None
    ) -> Window[dict[str, Any]]: ...

    @overload
    def messages(self, *, format: Literal["anthropic"]) -> dict[str, Any]: ...

    @overload
    def messages(self, *, format: Literal["aisdk", "openai", "openai-responses"]) -> list[dict[str, Any]]: ...

    def messages(
        self,
        before: MessageMark = None,
        after: MessageMark = None,
        limit: int | None = None,
        *,
        format: str | None = None,
    ) -> Any:
        """The transcript as UIMessages: the head's path, then what is open or was written by others. Or a part of it:
        before or after a message or a cursor (`after=""`: from the first), at most `limit`: the last ones, unless they
        are after something. With a `format`, what a model is given (`context()`), as the API of that name takes it:
        aisdk, openai, openai-responses a list, anthropic an object with `system` and `messages`."""
        asked = marks.asked(before, after, limit)
        if format is not None:
            from .formats import for_model

            if not asked.is_all:
                raise BadValue("a context is whole: `format` goes without before, after and limit")
            return for_model(self.context(), format)
        if asked.is_all:
            return Window(self._read(read.transcript.read_ui))
        return self._read(read.pages.ui_messages, asked)

    @overload
    def messages_json(self) -> str: ...

    @overload
    def messages_json(
        self, before: MessageMark = None, after: MessageMark = None, limit: int | None = None
    ) -> WindowText: ...

    def messages_json(
        self, before: MessageMark = None, after: MessageMark = None, limit: int | None = None
    ) -> str | WindowText:
        """The same as JSON text, every stored byte as it was given; a part of it is a text with cursors."""
        asked = marks.asked(before, after, limit)
        found = Window(self._read(read.transcript.read)) if asked.is_all else self._read(read.pages.messages, asked)
        text = bytes(read.transcript.as_json(found)).decode()
        return text if asked.is_all else WindowText(text, found.before, found.after)

    def transcript(
        self, turn: str | None = None, before: MessageMark = None, after: MessageMark = None, limit: int | None = None
    ) -> Window[StoredMessage]:
        """The messages with their times, turns and texts as stored; with `turn`, those on the way to it."""
        arguments.text_or_none("turn", turn)
        asked = marks.asked(before, after, limit)
        if asked.is_all:
            return Window(self._read(read.transcript.read_to, turn))
        return self._read(read.pages.messages, asked, turn)

    def parts(
        self, type: str | None = None, before: MessageMark = None, after: MessageMark = None, limit: int | None = None
    ) -> Window[dict[str, Any]]:
        """The parts of the messages, or those of a type, one by one: `message_id`, `turn_id`, `index`, `type`, `data`.
        What is before or after a message is before or after all its parts."""
        arguments.text_or_none("type", type)
        return self._read(read.pages.parts, marks.asked(before, after, limit), type)

    def snapshot(self, turn: str | None = None) -> tuple[list[StoredMessage], int]:
        """The transcript, and the number of the newest event in it: read on with `events(after=…)`. As for `revision`,
        what others left is put on the path first."""
        self._settle()
        with self._store.db.read() as tx:
            messages = read.transcript.read_to(tx, self.id, arguments.text_or_none("turn", turn))
            return messages, read.events.newest(tx, self.id)

    def at(self, when: datetime | int) -> Moment:
        """The session as its head stood at a time (a datetime, or epoch ms)."""
        stamp = marks.stamp(when)
        head = self._read(read.turns.head_at, stamp)
        return Moment(self._store, head.turn_id, head.revision, stamp)

    def history(
        self, before: int | str | Line | None = None, after: int | str | Line | None = None, limit: int | None = None
    ) -> Window[Line]:
        """Every move of the head, oldest first; or a part of them, by their numbers."""
        return self._read(read.events.history, marks.asked(before, after, limit))

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
        cursor = self.cursor() if after is None else arguments.whole("after", after)
        return self._store._background.watcher.follow(self.id, cursor, timeout)

    def path(
        self,
        before: str | TurnInfo | palaver.Turn | None = None,
        after: str | TurnInfo | palaver.Turn | None = None,
        limit: int | None = None,
    ) -> Window[TurnInfo]:
        """The turns from the root to the head."""
        return self._read(read.turns.on_path, marks.asked(before, after, limit))

    def tree(
        self,
        before: str | TurnInfo | palaver.Turn | None = None,
        after: str | TurnInfo | palaver.Turn | None = None,
        limit: int | None = None,
    ) -> Window[TurnInfo]:
        """Every turn this session knows, strays and other branches too; parents before children."""
        return self._read(read.turns.tree, marks.asked(before, after, limit))

    def strays(
        self,
        before: str | TurnInfo | palaver.Turn | None = None,
        after: str | TurnInfo | palaver.Turn | None = None,
        limit: int | None = None,
    ) -> Window[TurnInfo]:
        """Turns that lost a race or came too late; `fork(at=…)` rescues one."""
        return self._read(read.turns.strays, marks.asked(before, after, limit))

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

    def usage(self) -> list[UsageEntry]:
        """What every response used, in the order it was told: turns, messages, and what is the session's own."""
        return self._read(read.usage.of_session)

    @property
    def context_tokens(self) -> int | None:
        """How large the context is by now: what the newest answer on the path was given (input and cache) and gave.
        None: nobody told."""
        return self._read(read.usage.context_tokens)

    def ancestors(self) -> list[str]:
        """Ids of the sessions this one came from, nearest first."""
        return self._read(read.lineage.ancestors)

    def descendants(self) -> list[str]:
        """Ids of the sessions that came from this one, nearest first."""
        return self._read(read.lineage.descendants)

    def tip(self) -> Session:
        """The session in which this one goes on: the last of those that continue it (relation="continue"), of several
        the newest; itself, if none does. A deleted one is passed over, not what continues it."""
        return Session(self._store, self._read(read.lineage.tip))

    def aliases(self) -> list[tuple[str, str]]:
        return self._read(read.sessions.aliases)

    # ------------------------------------------------------------ turns

    def turn(
        self, messages: MessagesLike = None, expected: int | None = None, **given: Unpack[TurnKeywords]
    ) -> palaver.Turn:
        """Begin a turn. What the user said is on disk when this returns; chunks follow with `turn.write`. Also:
        `model`, `agent`, `system_prompt`, `trigger`, `snapshot_id`, `toolset`, `tools`, `permissions`."""
        new = verbs.begin.NewTurn.of(messages, expected, given)
        return self._opened(self._write(verbs.begin.begin, new.by(self._owner())))

    def commit(
        self,
        messages: MessagesLike = None,
        expected: int | None = None,
        *,
        status: str | None = None,
        usage: Any = None,
        cost_usd: float | None = None,
        **given: Unpack[CommitKeywords],
    ) -> TurnInfo:
        """A whole turn at once: written, sealed and on the path in one transaction, or nothing at all. Without
        `expected` it follows whatever the head is. `usage` is what it used, as `turn.usage` takes it; `status` is how
        it ended (completed, unless a tool call has no result). With status="waiting" it is not over: the tool calls of
        its last message are open, and `resolve()` or `resume()` goes on with it."""
        if status == "waiting":
            unanswered = verbs.unanswered.UnansweredTurn.of(messages, expected, given, usage, cost_usd)
            return self._write(verbs.unanswered.commit_and_tell, unanswered)
        whole = verbs.commit.WholeTurn.of(messages, expected, given)
        return self._write(verbs.commit.commit, whole.ended(status).having_used(usage, cost_usd))

    def regenerate(
        self, message: str | None = None, expected: int | None = None, **given: Unpack[TurnKeywords]
    ) -> palaver.Turn:
        """Answer again: a sibling turn that lists the same question. Without `message`, the last answer, or the last
        question if it has none."""
        return self._begin_sibling(message, verbs.begin.NewTurn.of(None, expected, given), editing=False)

    def edit(
        self, message: str, content: MessagesLike, expected: int | None = None, **given: Unpack[TurnKeywords]
    ) -> palaver.Turn:
        """Say it differently: a sibling turn with a new row, which the client still knows by the old id."""
        return self._begin_sibling(message, verbs.siblings.edited(content, expected, given), editing=True)

    def _begin_sibling(self, message: str | None, new: NewTurn, *, editing: bool) -> palaver.Turn:
        arguments.text_or_none("message", message)
        return self._opened(self._write(verbs.siblings.begin, message, new.by(self._owner()), editing))

    def resume(self, turn_id: str) -> palaver.Turn:
        """Continue a waiting turn: the same message, wherever it was left."""
        arguments.text("turn_id", turn_id)
        owner = self._owner()
        self._write(verbs.recovery.recover_session)  # by itself: it stays done if the resume is refused
        return self._opened(self._write(verbs.begin.resume, turn_id, owner), resumed=True)

    def resolve(
        self,
        tool_call_id: str,
        *,
        output: Any = UNSET,
        error: str | None = None,
        approved: bool | None = None,
        reason: str | None = None,
        turn_id: str | None = None,
        provider_metadata: Mapping[str, Any] | None = None,
        finish: bool = False,
    ) -> str:
        """Answer a call of a turn that waits, without taking the turn up: it goes on waiting for its agent, who resumes
        it and finds the answer. `provider_metadata` is kept beside the result, as the AI SDK's own. `finish`: the turn
        is sealed with the last answer that it waits for (as a stray, if the head has moved on). The id of the turn."""
        said = verbs.results.checked_answer(tool_call_id, output, error, approved, reason, provider_metadata)
        arguments.text_or_none("turn_id", turn_id)
        return self._write(verbs.answer.answer, turn_id, said, arguments.flag("finish", finish))

    def stop(self, turn_id: str | None = None, reason: str | None = None) -> list[str]:
        """End a turn, whoever writes it, in this process or another; without an id, every live or waiting turn on the
        current revision. It is sealed as aborted with all that is on disk; its writer gets TurnStopped at its next
        write, and `turn.stopped` within a second. The ids of the turns that were stopped."""
        arguments.text_or_none("turn_id", turn_id)
        why = exact_json.check_text("reason", reason) or "stopped"
        self._store._background.turns.write_out(self.id, turn_id)  # what this process holds back
        return self._write(verbs.stop.stop, turn_id, why)

    # ------------------------------------------------------------ the queue

    def enqueue(self, message: MessageLike, id: str | None = None, **given: Unpack[EnqueueKeywords]) -> Queued:
        """Send while a turn runs: the message waits its turn. The same id and content again is the same message."""
        return self._write(verbs.queue.enqueue, *verbs.queue.sent(message, id, given))

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
        options = verbs.queue.claiming(given)
        turn = self._write(verbs.queue.claim, id, options, expected, self._owner())
        return None if turn is None else self._opened(turn)

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
        self, *, system: str | None = None, max_tokens: int | None = None, count: Count | None = None
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
        self, *, system: str | None = None, max_tokens: int | None = None, count: Count | None = None
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
        return self._write(verbs.compaction.compact, said, marks.name_of(keep_from), expected)

    def prune(self, before: str | TurnInfo | palaver.Turn | None = None, *, keep: int | None = None) -> int:
        """Tool outputs of the turns before one, or of all but the last few, are not shown to a model again; how many.
        The record stays as it is."""
        return self._write(verbs.pruning.prune, marks.name_of(before), keep)

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
        wanted = (marks.name_of(at), check_title(title), arguments.flag("copy", copy))
        return Session(self._store, self._write(verbs.create.fork, *wanted))

    def materialise(self) -> int:
        """Copy the messages that live in other sessions, for readers who know only the contract; how many."""
        return self._write(verbs.create.copy_shared)

    def rewind(
        self, to: str | TurnInfo | palaver.Turn | dict[str, Any], expected: int | None = None, reason: str | None = None
    ) -> None:
        """Back to a turn, or to right after a message. Nothing is lost: undo() returns."""
        wanted = marks.name_of(to)
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
        wanted, why = marks.name_of(to), exact_json.check_text("reason", reason)
        self._write(verbs.moves.move, wanted, arguments.revision(expected), why)

    # ------------------------------------------------------------ life

    def update(self, *, facts: Mapping[str, str | None] | None = None, **given: Unpack[UpdateKeywords]) -> None:
        """Change what it belongs to: `project`, `user` … and other `facts`; those that are None are taken away. Also
        its `workspace` and its `model`."""
        self._write(verbs.lifecycle.update, verbs.lifecycle.Changes.of(facts, given))

    def archive(self) -> None:
        """Read-only, and out of lists. Turns already open may finish."""
        self._write(verbs.lifecycle.set_archived, True)

    def unarchive(self) -> None:
        self._write(verbs.lifecycle.set_archived, False)

    def end(self, reason: str | None = None) -> None:
        """Say that it is over, and why. It can go on all the same; `reopen()` takes it back. It ends once: the same
        again is nothing, with another reason it is refused."""
        if exact_json.check_text("reason", reason) == "":
            raise BadValue("an empty reason says nothing; leave it out")
        self._write(verbs.lifecycle.set_ended, True, reason)

    def reopen(self) -> None:
        self._write(verbs.lifecycle.set_ended, False, None)

    def add_usage(
        self,
        told: Any = None,
        *,
        model: Any = None,
        cost_usd: float | None = None,
        computed_usd: float | None = None,
        price: str | None = None,
        source: str = "app",
        key: str | None = None,
        replace: bool = False,
    ) -> None:
        """Usage that no turn has: of a title, a search, another service. It is in `usage()` only, not in the session's
        sums. The same `key` again counts once; with `replace` it takes the place of what was told before."""
        said = verbs.session_usage.Said.of(told, model, cost_usd, computed_usd, price, source, key)
        self._write(verbs.session_usage.add, said, arguments.flag("replace", replace))

    def delete(self, *, descendants: bool = False) -> int:
        """Gone from every list; forks keep what they share. undelete() brings it back. With `descendants`, so is all
        that came from it, sub-agents and forks: the last ones first, each by itself, so that whoever was interrupted
        calls it again. How many were deleted."""
        if not arguments.flag("descendants", descendants):
            self._write(verbs.lifecycle.delete)
            return 1
        count = 0
        while found := self._read(read.lineage.living_subtree):  # again: one may have been forked meanwhile
            count += sum(Session(self._store, each)._delete_if_there() for each in found)
        return count

    def _delete_if_there(self) -> bool:
        try:
            self._write(verbs.lifecycle.delete)
        except SessionNotFound:  # somebody else deleted it meanwhile
            return False
        return True

    def undelete(self) -> None:
        self._write(verbs.lifecycle.undelete)

    def alias(self, name: str, namespace: str = "alias", *, turn: str | None = None, reason: str | None = None) -> None:
        """A unique name for this session (or for one of its turns). AliasTaken: another session is found by it, by its
        id or an alias in whatever namespace."""
        self._write(verbs.names.add_alias, verbs.names.Alias(name, namespace, turn, reason).checked())

    def unalias(self, name: str, namespace: str = "alias") -> None:
        self._write(verbs.names.remove_alias, arguments.text("name", name), arguments.text("namespace", namespace))

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
