"""Palaver for asyncio: the same verbs, each awaited; the work itself happens in threads.

    store = await aio.open("talks.db")
    session = await store.sessions.create("coder")
    async with await session.turn("Hello?") as turn:
        async for chunk in model_stream:
            await turn.write(chunk)

There is no second implementation: an object here stands for the one it is named after, and every method is a coroutine
of the same name and arguments. Calls on one turn keep their order; chunks of many turns share transactions. Cancelling
an awaited call never cancels the work: a chunk whose `write` was cancelled is stored, once.

What can be gone through needs no await before it: `async for event in session.follow()`, `async for info in
store.sessions.list()`. A property that reads the store is awaited, `await session.title`, and set by `set("title", …)`.

Made from the synchronous classes by `python -m tests.tools.aio_stub`: change those, and run it again.
"""

import builtins
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Literal, Unpack, overload

from .aisdk.budget import Context
from .awaited.iterating import AsyncPage, Following, Listing
from .db.engine import Database
from .grafts.values import GraftProgress, GraftReport, GraftSession, Native
from .keywords import (
    ClaimKeywords,
    CommitKeywords,
    CompactKeywords,
    Count,
    EnqueueKeywords,
    FactKeywords,
    MessageLike,
    MessagesLike,
    ModelLike,
    OpenKeywords,
    Relation,
    TurnKeywords,
    UpdateKeywords,
)
from .model import Event, Line, Problem, Queued, SearchPage, SessionInfo, TurnInfo, UsageEntry, Window, WindowText
from .opening import Address
from .permissions import Answer
from .recording import C
from .session import MessageMark, StoredMessage
from .turn import Chunk

__all__ = [
    "Async",
    "AsyncMoment",
    "AsyncPage",
    "AsyncRecording",
    "AsyncSession",
    "AsyncSessionRules",
    "AsyncSessions",
    "AsyncStore",
    "AsyncToolCall",
    "AsyncTurn",
    "Following",
    "Listing",
    "open",
    "record",
]

class Async:
    """Stands for an object of the synchronous library."""

    def __init__(self, inner: object, lane: object) -> None: ...

class AsyncMoment(Async):
    """A session as it was."""

    @property
    def turn_id(self) -> str | None: ...
    @property
    def revision(self) -> int: ...
    @property
    def at(self) -> int: ...
    async def messages(self) -> list[dict[str, Any]]: ...

class AsyncSession(Async):
    """A Session."""

    @property
    def id(self) -> str: ...
    @property
    def info(self) -> Coroutine[Any, Any, SessionInfo]: ...
    @property
    def revision(self) -> Coroutine[Any, Any, int]:
        """How often the head moved: what `expected=` is compared with. What a dead writer or another program left is
        put on the path first, so nobody is refused for rows it was shown: read the revision, then the messages."""
    @property
    def agent(self) -> Coroutine[Any, Any, str]: ...
    @property
    def metadata(self) -> Coroutine[Any, Any, Mapping[str, Any]]:
        """The application's own object, to be read; `update_metadata` changes it."""
    async def update_metadata(self, changes: Mapping[str, Any]) -> None:
        """Set some keys of the metadata; those that are None are taken away."""
    @property
    def facts(self) -> Coroutine[Any, Any, Mapping[str, str]]:
        """What it belongs to (`project`, `user` …), to be read; `update` changes it."""
    @property
    def title(self) -> Coroutine[Any, Any, str | None]:
        """What a person calls it; `session.title = "…"` sets it, None takes it away."""
    @overload
    async def messages(
        self, before: MessageMark = None, after: MessageMark = None, limit: int | None = None
    ) -> Window[dict[str, Any]]:
        """The transcript as UIMessages: the head's path, then what is open or was written by others. Or a part of it:
        before or after a message or a cursor (`after=""`: from the first), at most `limit`: the last ones, unless they
        are after something. With a `format`, what a model is given (`context()`), as the API of that name takes it:
        aisdk, openai, openai-responses a list, anthropic an object with `system` and `messages`."""
    @overload
    async def messages(self, *, format: Literal["anthropic"]) -> dict[str, Any]: ...
    @overload
    async def messages(self, *, format: Literal["aisdk", "openai", "openai-responses"]) -> list[dict[str, Any]]: ...
    @overload
    async def messages_json(self) -> str:
        """The same as JSON text, every stored byte as it was given; a part of it is a text with cursors."""
    @overload
    async def messages_json(
        self, before: MessageMark = None, after: MessageMark = None, limit: int | None = None
    ) -> WindowText: ...
    async def transcript(
        self, turn: str | None = None, before: MessageMark = None, after: MessageMark = None, limit: int | None = None
    ) -> Window[StoredMessage]:
        """The messages with their times, turns and texts as stored; with `turn`, those on the way to it."""
    async def parts(
        self, type: str | None = None, before: MessageMark = None, after: MessageMark = None, limit: int | None = None
    ) -> Window[dict[str, Any]]:
        """The parts of the messages, or those of a type, one by one: `message_id`, `turn_id`, `index`, `type`, `data`.
        What is before or after a message is before or after all its parts."""
    async def snapshot(self, turn: str | None = None) -> tuple[list[StoredMessage], int]:
        """The transcript, and the number of the newest event in it: read on with `events(after=…)`. As for `revision`,
        what others left is put on the path first."""
    async def at(self, when: datetime | int) -> AsyncMoment:
        """The session as its head stood at a time (a datetime, or epoch ms)."""
    async def history(
        self, before: int | str | Line | None = None, after: int | str | Line | None = None, limit: int | None = None
    ) -> Window[Line]:
        """Every move of the head, oldest first; or a part of them, by their numbers."""
    async def cursor(self) -> int:
        """The number of the newest event: where `follow(after=…)` begins if nothing of before is wanted."""
    async def events(self, after: int = 0, limit: int = 1000) -> list[Event]: ...
    def follow(self, after: int | None = None, *, timeout: float | None = None) -> Following:
        """`session.follow`, with `async for`. It holds no thread while nothing happens."""
    async def path(
        self,
        before: str | TurnInfo | AsyncTurn | None = None,
        after: str | TurnInfo | AsyncTurn | None = None,
        limit: int | None = None,
    ) -> Window[TurnInfo]:
        """The turns from the root to the head."""
    async def tree(
        self,
        before: str | TurnInfo | AsyncTurn | None = None,
        after: str | TurnInfo | AsyncTurn | None = None,
        limit: int | None = None,
    ) -> Window[TurnInfo]:
        """Every turn this session knows, strays and other branches too; parents before children."""
    async def strays(
        self,
        before: str | TurnInfo | AsyncTurn | None = None,
        after: str | TurnInfo | AsyncTurn | None = None,
        limit: int | None = None,
    ) -> Window[TurnInfo]:
        """Turns that lost a race or came too late; `fork(at=…)` rescues one."""
    async def waiting(self) -> list[TurnInfo]:
        """Turns that wait for an approval or a client's tool."""
    async def live(self) -> list[TurnInfo]:
        """Turns that somebody is writing."""
    async def messages_of(self, turn_id: str) -> list[StoredMessage]:
        """The messages that one turn lists."""
    async def usage(self) -> list[UsageEntry]:
        """What every response used, in the order it was told: turns, messages, and what is the session's own."""
    @property
    def context_tokens(self) -> Coroutine[Any, Any, int | None]:
        """How large the context is by now: what the newest answer on the path was given (input and cache) and gave.
        None: nobody told."""
    async def ancestors(self) -> list[str]:
        """Ids of the sessions this one came from, nearest first."""
    async def descendants(self) -> list[str]:
        """Ids of the sessions that came from this one, nearest first."""
    async def tip(self) -> AsyncSession:
        """The session in which this one goes on: the last of those that continue it (relation="continue"), of several
        the newest; itself, if none does. A deleted one is passed over, not what continues it."""
    async def aliases(self) -> list[tuple[str, str]]: ...
    async def turn(
        self, messages: MessagesLike = None, expected: int | None = None, **given: Unpack[TurnKeywords]
    ) -> AsyncTurn:
        """Begin a turn. What the user said is on disk when this returns; chunks follow with `turn.write`. Also:
        `model`, `agent`, `system_prompt`, `trigger`, `snapshot_id`, `toolset`, `tools`, `permissions`."""
    async def commit(
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
    async def regenerate(
        self, message: str | None = None, expected: int | None = None, **given: Unpack[TurnKeywords]
    ) -> AsyncTurn:
        """Answer again: a sibling turn that lists the same question. Without `message`, the last answer, or the last
        question if it has none."""
    async def edit(
        self, message: str, content: MessagesLike, expected: int | None = None, **given: Unpack[TurnKeywords]
    ) -> AsyncTurn:
        """Say it differently: a sibling turn with a new row, which the client still knows by the old id."""
    async def resume(self, turn_id: str) -> AsyncTurn:
        """Continue a waiting turn: the same message, wherever it was left."""
    async def resolve(
        self,
        tool_call_id: str,
        *,
        output: Any = ...,
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
    async def stop(self, turn_id: str | None = None, reason: str | None = None) -> list[str]:
        """End a turn, whoever writes it, in this process or another; without an id, every live or waiting turn on the
        current revision. It is sealed as aborted with all that is on disk; its writer gets TurnStopped at its next
        write, and `turn.stopped` within a second. The ids of the turns that were stopped."""
    async def enqueue(self, message: MessageLike, id: str | None = None, **given: Unpack[EnqueueKeywords]) -> Queued:
        """Send while a turn runs: the message waits its turn. The same id and content again is the same message."""
    async def queue(self) -> list[Queued]:
        """What waits, first come first."""
    async def claim(
        self, id: str | None = None, expected: int | None = None, **given: Unpack[ClaimKeywords]
    ) -> AsyncTurn | None:
        """Begin the first message in line, or the one with this id; None: nothing waits. Of many who claim, one gets
        it. Leave its block by an exception before any chunk came, and the message waits again, once."""
    async def cancel(self, id: str) -> bool:
        """Take a queued message back. False: it was before. MessageFired: it is too late."""
    @property
    def permissions(self) -> AsyncSessionRules:
        """The session's own rules: add, remove, list, evaluate."""
    async def context(
        self, *, system: str | None = None, max_tokens: int | None = None, count: Count | None = None
    ) -> Context:
        """What a model should see, as UIMessages: the system prompt (the latest, or this one), the latest summary, the
        turns it kept, and what follows. Open turns are not in it; `turn.context()` is for the turn itself. With
        `max_tokens`, what fits, newest first: `.left_out` says how many messages do not, `.compaction_due` when to
        compact. `count` tells how many tokens a UIMessage is; without it that is estimated."""
    async def model_messages(
        self, *, system: str | None = None, max_tokens: int | None = None, count: Count | None = None
    ) -> list[dict[str, Any]]:
        """The same as the AI SDK's model messages."""
    async def compact(
        self,
        summary: str,
        keep_from: str | TurnInfo | AsyncTurn | None = None,
        expected: int | None = None,
        **given: Unpack[CompactKeywords],
    ) -> TurnInfo:
        """Let a summary stand for everything before a turn (for everything, without one). The turns stay; only
        `context()` stops at the summary. Also: `compaction_type`, `model`, `provider`, `trigger`, `auto`, `overflow`,
        `metadata`, `tokens_before`, `tokens_after`, `summary_tokens`, `summarization_input_tokens`,
        `summarization_output_tokens`, `duration_ms`."""
    async def prune(self, before: str | TurnInfo | AsyncTurn | None = None, *, keep: int | None = None) -> int:
        """Tool outputs of the turns before one, or of all but the last few, are not shown to a model again; how many.
        The record stays as it is."""
    async def fork(
        self,
        at: str | TurnInfo | AsyncTurn | dict[str, Any] | None = None,
        *,
        title: str | None = None,
        copy: bool = False,
    ) -> AsyncSession:
        """A new session that shares everything up to a turn or a message; nothing is copied, unless readers who know
        only the contract must see it whole: `copy=True`."""
    async def materialise(self) -> int:
        """Copy the messages that live in other sessions, for readers who know only the contract; how many."""
    async def rewind(
        self, to: str | TurnInfo | AsyncTurn | dict[str, Any], expected: int | None = None, reason: str | None = None
    ) -> None:
        """Back to a turn, or to right after a message. Nothing is lost: undo() returns."""
    async def undo(self, expected: int | None = None) -> None:
        """Take back the last move of the head; again, the one before it."""
    async def redo(self, expected: int | None = None) -> None: ...
    async def move(self, to: str | TurnInfo | AsyncTurn | None, expected: int, reason: str | None = None) -> None:
        """Point the head at any sealed turn of this session's tree, if it is still at revision `expected`."""
    async def update(self, *, facts: Mapping[str, str | None] | None = None, **given: Unpack[UpdateKeywords]) -> None:
        """Change what it belongs to: `project`, `user` … and other `facts`; those that are None are taken away. Also
        its `workspace` and its `model`."""
    async def archive(self) -> None:
        """Read-only, and out of lists. Turns already open may finish."""
    async def unarchive(self) -> None: ...
    async def end(self, reason: str | None = None) -> None:
        """Say that it is over, and why. It can go on all the same; `reopen()` takes it back. It ends once: the same
        again is nothing, with another reason it is refused."""
    async def reopen(self) -> None: ...
    async def add_usage(
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
    async def delete(self, *, descendants: bool = False) -> int:
        """Gone from every list; forks keep what they share. undelete() brings it back. With `descendants`, so is all
        that came from it, sub-agents and forks: the last ones first, each by itself, so that whoever was interrupted
        calls it again. How many were deleted."""
    async def undelete(self) -> None: ...
    async def alias(
        self, name: str, namespace: str = "alias", *, turn: str | None = None, reason: str | None = None
    ) -> None:
        """A unique name for this session (or for one of its turns). AliasTaken: another session is found by it, by its
        id or an alias in whatever namespace."""
    async def unalias(self, name: str, namespace: str = "alias") -> None: ...
    async def adopt(self) -> bool:
        """Make turns of everything another program wrote into this session; False if there was nothing."""
    async def set(self, name: Literal["title"], value: str | None) -> None:
        """Set the title."""

class AsyncSessionRules(Async):
    """A session's own rules."""

    async def list(self) -> builtins.list[dict[str, Any]]:
        """The session's own rules, in the order they were added."""
    async def add(self, permission: str, pattern: str = "*", action: str = "allow", **more: Any) -> dict[str, Any]:
        """A rule for this session. Adding the same again changes nothing."""
    async def remove(self, permission: str, pattern: str | None = None, action: str | None = None) -> int:
        """Take rules away: those for a permission, with this pattern and action where given; how many."""
    async def evaluate(
        self,
        permission: str,
        *,
        argv: Sequence[str] | str | None = None,
        path: str | None = None,
        host: str | None = None,
        manifest: Iterable[Any] | None = None,
        project: Iterable[Any] | None = None,
        headless: bool = False,
    ) -> Answer:
        """May this be done? The host gives the rules of its manifest and project; the session's are added."""

class AsyncSessions(Async):
    """Finding and making sessions; `async for` goes through all that are not archived."""

    async def create(
        self,
        agent: str = "default",
        *,
        workspace: str | None = None,
        model: Any = None,
        title: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: AsyncSession | str | None = None,
        relation: Relation | None = None,
        tool_call_id: str | None = None,
        id: str | None = None,
        facts: Mapping[str, str | None] | None = None,
        **named: Unpack[FactKeywords],
    ) -> AsyncSession:
        """A new session. With `parent` it is a sub-agent's, spawned from there (by a tool call, if given);
        relation="continue": it goes on where the parent was split, "import": it was brought in. `id` may be the
        application's own. `project`, `user` … and `facts` say what it belongs to; what a sub-agent has from its parent
        can be taken away by None."""
    async def get_or_create(
        self,
        id: str,
        agent: str = "default",
        *,
        workspace: str | None = None,
        model: Any = None,
        title: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: AsyncSession | str | None = None,
        relation: Relation | None = None,
        tool_call_id: str | None = None,
        facts: Mapping[str, str | None] | None = None,
        **named: Unpack[FactKeywords],
    ) -> AsyncSession:
        """The session with this id, ours or the application's; made with the rest if there is none yet. Of many who ask
        at once, one makes it. SessionDeleted if it was deleted, AliasTaken if the id is an alias of another."""
    async def get(self, session_id: str, *, deleted: bool = False) -> AsyncSession:
        """The session with this id, ours or the one given to create(); SessionNotFound if none, or it was deleted."""
    async def find(self, name: str, namespace: str | None = None) -> AsyncSession:
        """By id, or by an alias (in one namespace, or in any if it is clear)."""
    async def turn_of(self, thread_key: str, namespace: str = "thread_key") -> TurnInfo:
        """The turn that an alias names: `session.alias(key, "thread_key", turn=…)`."""
    async def match(self, name: str, *, deleted: bool = False) -> builtins.list[SessionInfo]:
        """What a person may mean by a name. A whole id (ours or the application's) is that session and no other. Else
        all that have it as an alias, as their exact title, or as a piece of their id: its beginning (with or without
        `ses_`) or its end, from four characters on; a shorter beginning counts if nobody is called so."""
    async def by_title(self, title: str) -> AsyncSession:
        """The session that a title means: the newest of its lineage, which is "X", "X #2", "X #3" …: the highest
        number; of several with the same title, the one that was made last. "X #2" is just that one. Archived ones
        count, deleted ones do not. SessionNotFound otherwise."""
    async def next_title(self, title: str) -> str:
        """What to call the next session of a lineage: "X #2" after "X", "X #10" after "X #9"; "X", if there is none of
        it yet. "X #3" is of the lineage of "X". Nothing is kept free: two who ask at once are told the same."""
    def list(
        self,
        *,
        agent: str | None = None,
        workspace: str | None = None,
        parent: AsyncSession | str | None = None,
        archived: bool = False,
        deleted: bool = False,
        waiting: bool = False,
        ended: bool = False,
        idle_since: datetime | int | None = None,
        order: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        facts: Mapping[str, str | None] | None = None,
        **named: Unpack[FactKeywords],
    ) -> Listing:
        """`sessions.list`: awaited, one page; with `async for`, all of them."""
    def __aiter__(self) -> AsyncIterator[SessionInfo]: ...

class AsyncStore(Async):
    """A Store; leave its block, or await `close()`."""

    @property
    def sessions(self) -> AsyncSessions: ...
    @property
    def path(self) -> str: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def db(self) -> Database: ...
    async def close(self) -> None:
        """What was begun is finished first. A second time does nothing."""
    async def recover(self) -> int:
        """Seal what dead writers left open, in every session; how many sessions had some."""
    async def abandoned(self) -> set[str]:
        """The open turns that nobody writes any more; `recover` would seal them. For who may only look."""
    async def trim(self, older_than: float | None = None) -> int:
        """Take away the chunks of turns sealed longer ago than so many seconds (default: `trim_after`); how many. Their
        parts hold what they said. Done by itself a little after each seal."""
    async def verify(self, *, fix: bool = False, progress: Callable[[int, int], None] | None = None) -> list[Problem]:
        """Recompute every digest and every derived copy; what does not fit. `fix` rewrites copies, never truth.
        `progress` is called now and then, with how many turns and sessions were looked at."""
    async def rebuild(self, session_id: str | None = None, *, fix: bool = True) -> list[Problem]:
        """In a store that keeps everything (`events="full"`): make the rows of one session, or of all, again from the
        journal; what was missing or said something else. `fix=False` only compares."""
    async def adopt(self) -> int:
        """Look everywhere for rows of other programs and make them turns; how many sessions had some."""
    async def reindex(self, *, only_missing: bool = False, progress: Callable[[int, int], None] | None = None) -> int:
        """Make the search index again, from the record; how many turns. `only_missing`: go on with what is not indexed
        yet, as maintenance does by itself. Killed on the way, it is gone on with by whoever opens the store next."""
    async def search(
        self,
        query: str,
        *,
        order: str = "rank",
        limit: int = 20,
        after: str | None = None,
        per_session: bool = False,
        archived: bool = False,
        hidden: bool = False,
    ) -> SearchPage:
        """Find what was ever said: words (all of them), "phrases", OR, NOT or -word, prefix*, parentheses, and fields
        like role: agent: tool: file: before: after: session: is:error has:file. The best first, or order="newest".
        `per_session`: the best hit of each session; `archived`: also in archived sessions; `hidden`: also what was
        rewound, waits in a queue or is a stray. What was deleted is never found."""
    async def graft(
        self,
        sessions: GraftSession | Iterable[GraftSession],
        *,
        progress: Callable[[GraftProgress], None] | None = None,
    ) -> GraftReport:
        """Bring in what happened elsewhere, with its own times: what is here already is known by the SHA-256 of its
        items and left alone. What cannot be brought in is told by GraftRefused, when all the rest is here."""
    async def natives(self, turn_id: str) -> list[Native]:
        """The items that a turn was made of, exactly as they were given; empty if it came by no graft."""
    async def put_foreign_id(self, origin: str, foreign_id: str, ours: str, scope: str = "") -> str:
        """Remember which of our ids another system's id stands for. The first answer stays; it is returned."""
    async def find_foreign_id(self, origin: str, foreign_id: str, scope: str = "") -> str | None: ...
    async def system_prompt(self, digest: str) -> str | None: ...
    async def open_turn(self, turn_id: str) -> AsyncTurn:
        """The turn that this process has open under this id; TurnNotFound if it has none."""
    async def body(self, digest: str) -> str | None:
        """The definitions of a turn's tools, or its settings, as JSON text, by the digest in its `TurnInfo`."""
    async def __aenter__(self) -> AsyncStore: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class AsyncToolCall(Async):
    """A tool call of an open turn, waiting for its answer."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def input(self) -> Any: ...
    @property
    def approved(self) -> bool | None: ...
    async def output(self, value: Any, *, preliminary: bool = False) -> None:
        """What the tool gave. One that is `preliminary` is replaced by the next, and the call stays open. A call is
        answered once."""
    async def error(self, text: str | BaseException) -> None:
        """Why the tool failed, as the model is to read it; or the exception that says so."""
    async def deny(self) -> None:
        """It may not run: the model is told so, with the reason that came with the answer."""
    async def ask(self) -> None:
        """Ask a person whether it may run: leave the block, and the turn waits. `turn.resolve(call.id, approved=…)` is
        the answer, on what `session.resume(turn.id)` gives, in any process."""

class AsyncTurn(Async):
    """A Turn; leaving its block seals it, as without asyncio."""

    @property
    def id(self) -> str: ...
    @property
    def session_id(self) -> str: ...
    @property
    def status(self) -> Coroutine[Any, Any, str]: ...
    @property
    def stopped(self) -> Coroutine[Any, Any, bool]:
        """Whether somebody else ended it (`session.stop`): known at the next write, on leaving the block, or within a
        second. Look at it between chunks, and end the model's call."""
    @property
    def chunks(self) -> Coroutine[Any, Any, int]:
        """How many chunks were taken: the `at` of the next one."""
    @property
    def stored(self) -> Coroutine[Any, Any, int]:
        """How many of them are on disk: all, unless the save policy holds some back."""
    @property
    def message_id(self) -> Coroutine[Any, Any, str | None]:
        """The row of the response, once there is one."""
    async def message(self) -> dict[str, Any]:
        """The response so far, as plain values."""
    async def write(self, chunk: Chunk, *, at: int | None = None) -> None:
        """`turn.write`; chunks of many turns share a transaction."""
    async def append(self, given: Iterable[Chunk], *, at: int | None = None) -> None:
        """Keep chunks, all or none. `at` says how many were stored before: chunks stored already are not doubled."""
    async def flush(self) -> None:
        """Write what the save policy holds back."""
    async def text(self, delta: str) -> None:
        """More of the answer. It goes on in the text that is open, or begins one."""
    async def reasoning(self, delta: str) -> None:
        """More of what the model thinks."""
    async def tool(self, name: str, input: Any = None, *, id: str | None = None) -> AsyncToolCall:
        """The model calls a tool; `call.output(…)` or `call.error(…)` answers. Without an answer the turn waits when
        its block is left. Calls that were made together are written before the first answer."""
    async def file(self, source: str | bytes, media_type: str | None = None) -> None:
        """A file that the model made: its bytes, or its address (a URL)."""
    async def step(self) -> None:
        """The model is called again: what follows is another step."""
    async def calls(self) -> list[AsyncToolCall]:
        """The tool calls that have no result yet, with their input and whether they may run: for who goes on with a
        turn after a resume."""
    async def usage(
        self,
        told: Any = None,
        *,
        input: int = 0,
        output: int = 0,
        reasoning: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        model: ModelLike | None = None,
        cost_usd: float | None = None,
        key: str | None = None,
    ) -> None:
        """Tokens used since the last call: the usage object of the AI SDK, OpenAI or Anthropic as it is, or the counts.
        `input` excludes the cache, `output` excludes reasoning. The store never computes a cost. With a `key`, such as
        the id of the response, the same again counts once."""
    async def resolve(
        self,
        tool_call_id: str,
        *,
        output: Any = ...,
        error: str | None = None,
        approved: bool | None = None,
        reason: str | None = None,
    ) -> None:
        """A tool's result, or the answer to an approval request, that did not come through the stream."""
    async def wait(self) -> None:
        """Leave the turn open for somebody to answer: minutes or days. `session.resume(turn.id)` continues it."""
    async def used(self, permission: str) -> None:
        """Note that the turn made use of a permission: beside those it was granted, for whoever audits it."""
    async def context(
        self, *, system: str | None = None, max_tokens: int | None = None, count: Count | None = None
    ) -> Context:
        """What a model should see to go on with this turn: what is before it, and what it has so far; with
        `max_tokens`, what fits (see `session.context`)."""
    async def model_messages(
        self, *, system: str | None = None, max_tokens: int | None = None, count: Count | None = None
    ) -> list[dict[str, Any]]:
        """The same as the AI SDK's model messages: what an agent's loop gives its model, again after each tool."""
    async def compact(
        self, summary: str, keep_from: str | TurnInfo | AsyncTurn | None = None, **given: Unpack[CompactKeywords]
    ) -> AsyncTurn:
        """Compact while the turn runs: it is sealed at its last finished step, the summary follows, and the turn that
        is returned goes on from there; all of it or nothing. Takes what `session.compact` takes."""
    async def seal(self, status: str | None = None) -> None:
        """Freeze the turn and move the head to it. HeadConflict: somebody else moved it first."""
    async def abort(self, reason: str | None = None) -> None:
        """End the turn with what it has; open tool calls are closed as interrupted."""
    async def fail(self, message: str, code: str | None = None) -> None:
        """End the turn as failed, with what it has; the error can be read in its `TurnInfo`."""
    async def give_back(self) -> bool:
        """A queued message whose start failed before anything came waits again, once. False: it does not."""
    async def __aenter__(self) -> AsyncTurn: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class AsyncRecording(Generic[C]):
    """Iterate over it for the chunks, once; the stream is recorded to its end whether anybody listens or not."""

    turn: AsyncTurn
    def __init__(self, turn: AsyncTurn, stream: AsyncIterable[C]) -> None: ...
    def __aiter__(self) -> AsyncIterator[C]: ...
    async def wait(self) -> None:
        """Until everything is recorded; an error of the stream is raised here."""
    async def stop(self, reason: str | None = "stopped") -> None:
        """Stop generating: the turn is sealed, as aborted, with what it has; the stream is closed, and who listens is
        at the end. Nothing happens if the recording has ended."""

async def open(url: Address, space: str | None = None, **options: Unpack[OpenKeywords]) -> AsyncStore:
    """`palaver.open`, awaited."""

async def record(
    session: AsyncSession,
    message: MessagesLike,
    stream: AsyncIterable[C],
    *,
    expected: int | None = None,
    **given: Unpack[TurnKeywords],
) -> AsyncRecording[C]:
    """Begin a turn with a message and record an async stream in it, passing each chunk on."""
