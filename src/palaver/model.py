"""The nouns, as plain values. Nothing here does I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

OPEN = ("pending", "streaming", "waiting")
SEALED = ("completed", "failed", "aborted")
ROLES = ("user", "assistant", "system")
TOOL_STATES = (
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
)
USAGE_KEYS = ("input", "output", "reasoning", "cache_read", "cache_write")
MOST = 2**53  # of anything that is counted, and of every sum: exact for each reader of JSON


def add_up(counts: Iterable[int]) -> int:
    return min(sum(counts), MOST)


class Usage(msgspec.Struct, frozen=True):
    """Tokens, each counted once: `input` excludes what came from or went to the cache. Sums stop at `MOST`: what a
    caller says is refused before that, what was found in a file must not stop anybody."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return add_up(self.counts())

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add_up, zip(self.counts(), other.counts(), strict=True)))

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(a - b for a, b in zip(self.counts(), other.counts(), strict=True)))

    def counts(self) -> tuple[int, int, int, int, int]:
        return (self.input, self.output, self.reasoning, self.cache_read, self.cache_write)

    def columns(self) -> dict[str, int]:
        return dict(zip(USAGE_KEYS, self.counts(), strict=True))

    def json(self) -> str:
        return "{" + ",".join(f'"{k}":{n}' for k, n in zip(USAGE_KEYS, self.counts(), strict=True)) + "}"

    @classmethod
    def from_metadata(cls, metadata: Any) -> Usage | None:
        """The contract's `usage` object, if there is one; what is not a whole number that can have been counted is no
        count."""
        given = metadata.get("usage") if isinstance(metadata, dict) else None
        if not isinstance(given, dict):
            return None
        counts = {k: given[k] for k in USAGE_KEYS if type(given.get(k)) is int and 0 <= given[k] <= MOST}
        return cls(**counts) if counts else None


class UsageEntry(msgspec.Struct, frozen=True):
    """The usage of one response of an API. `cost_reported` is what the caller said, `cost_computed` what a price list
    says; `turn_id` and `message_id` are None for what belongs to the session as a whole."""

    n: int
    turn_id: str | None
    message_id: str | None
    key: str | None
    source: str
    provider: str | None
    model: str | None
    usage: Usage
    cost_reported: float | None
    cost_computed: float | None
    price: str | None
    at: int


class SessionInfo(msgspec.Struct, frozen=True):
    """A session as a list shows it. `app_id` is the application's own id (`create(id=…)`); `waiting` and `live` count
    the turns that wait for an answer and those that are being written."""

    id: str
    agent: str
    workspace: str | None
    model: dict[str, Any]
    title: str | None
    preview: str | None
    parent_id: str | None
    parent_message_id: str | None
    relation: str
    revision: int
    turn_id: str | None
    turns: int
    messages: int
    usage: Usage
    total_tokens: int
    cost_usd: float
    metadata: dict[str, Any]
    created_at: int
    updated_at: int
    archived_at: int | None
    deleted_at: int | None
    app_id: str | None = None
    waiting: int = 0
    live: int = 0
    ended_at: int | None = None
    end_reason: str | None = None
    last_message_at: int | None = None


class Page:
    """Part of a list: its `sessions`, and `next`, the cursor of the rest (None at the end). Going through one that was
    asked for without a limit goes on with the pages that follow, each read when it is reached."""

    __slots__ = ("_follow", "next", "sessions")

    def __init__(
        self, sessions: list[SessionInfo], next: str | None, follow: Callable[[str], Page] | None = None
    ) -> None:
        self.sessions = sessions
        self.next = next
        self._follow = follow

    def __iter__(self) -> Iterator[SessionInfo]:
        page = self
        while True:
            yield from page.sessions
            if page.next is None or page._follow is None:
                return
            page = page._follow(page.next)

    @property
    def goes_on(self) -> bool:
        """Whether going through it also goes through the pages that follow."""
        return self._follow is not None

    def __repr__(self) -> str:
        return f"<Page of {len(self.sessions)} sessions{', more follow' if self.next else ''}>"


class Window(list[T]):
    """A part of a list, oldest first. `before` and `after` are cursors: as `before=` and `after=` they go on from
    here; None: nothing is left on that side."""

    __slots__ = ("after", "before")

    def __init__(self, items: Iterable[T] = (), before: str | None = None, after: str | None = None) -> None:
        super().__init__(items)
        self.before = before
        self.after = after


class WindowText(str):
    """The messages of a window as JSON text, with the same cursors."""

    __slots__ = ("after", "before")

    before: str | None
    after: str | None

    def __new__(cls, text: str, before: str | None = None, after: str | None = None) -> WindowText:
        made = super().__new__(cls, text)
        made.before, made.after = before, after
        return made


class TurnError(msgspec.Struct, frozen=True):
    """What a turn failed of: a sentence, and a code where one was told."""

    message: str
    code: str | None = None


class TurnInfo(msgspec.Struct, frozen=True):
    """A node of the tree: where it stands, how it ended, what it used, and what was in force when it was begun.
    `system_prompt` is a digest; `store.system_prompt(digest)` is its text. So are `tool_definitions` and `settings`,
    which `store.body(digest)` has as JSON text."""

    id: str
    parent_id: str | None
    session_id: str
    kind: str
    status: str
    base_revision: int
    depth: int
    started_at: int
    sealed_at: int | None
    digest: bytes | None
    response_id: str | None
    usage: Usage
    cost_usd: float
    thread_tokens: int
    thread_messages: int
    finish: str | None = None
    error: TurnError | None = None
    abort_reason: str | None = None
    model: dict[str, Any] | None = None
    agent: str | None = None
    system_prompt: str | None = None
    toolset: str | None = None
    tools: list[str] | None = None
    permissions_granted: list[dict[str, Any]] = []
    permissions_used: list[str] = []
    trigger: dict[str, Any] | None = None
    role: str | None = None
    persona: str | None = None
    workspace: str | None = None
    mode: str | None = None
    source_event: str | None = None
    tool_definitions: str | None = None
    settings: str | None = None
    unknown_chunks: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}


class Queued(msgspec.Struct, frozen=True):
    """A message that waits: its id, the pending turn that holds it, when it was sent, and the message itself."""

    id: str
    turn_id: str
    queued_at: int
    message: dict[str, Any]


class Line(msgspec.Struct, frozen=True):
    """One line of a session's reflog: the head moved, when, where to, and why."""

    seq: int
    kind: str
    turn_id: str | None
    revision: int
    at: int
    ref_seq: int | None
    reason: str | None


class Event(msgspec.Struct, frozen=True):
    """Something that happened to a session. `turn` is the begin number of the turn it belongs to."""

    seq: int
    kind: str
    turn: int | None
    data: Any
    at: int


class Hit(msgspec.Struct, frozen=True):
    """What a search found: a message's own text, or one result of a tool (then `part_id` says which, and `role` is
    `tool`), under the name of a session that sees it. `marks` are the places in `snippet` of what was looked for;
    `before` and `after` are the messages around it. `hidden`: rewound, queued or a stray."""

    session_id: str
    turn_id: str | None
    message_id: str
    part_id: str | None
    role: str
    at: int
    title: str | None
    source: str | None
    model: str | None
    snippet: str
    marks: list[tuple[int, int]]
    before: str | None
    after: str | None
    hidden: bool = False


class SearchPage:
    """Part of what was found: its `hits`, through which one may go, and `next`: given as `after`, it is where the rest
    begins (None at the end).

    `moved`: the index was written since the page before, so a ranked list may repeat or miss something. `cut`: the
    query was longer than one may be, and its end was left out. `indexed_through`: what came into the
    store after this time may be missing; None: everything was looked at. `suggestion`: what may have been meant,
    where nothing was found."""

    __slots__ = ("cut", "hits", "indexed_through", "moved", "next", "suggestion")

    def __init__(
        self,
        hits: list[Hit],
        next: str | None = None,
        *,
        moved: bool = False,
        cut: bool = False,
        indexed_through: int | None = None,
        suggestion: str | None = None,
    ) -> None:
        self.hits, self.next, self.moved, self.cut = hits, next, moved, cut
        self.indexed_through, self.suggestion = indexed_through, suggestion

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __repr__(self) -> str:
        return f"<SearchPage of {len(self.hits)} hits{', more follow' if self.next else ''}>"


class Problem(msgspec.Struct, frozen=True):
    """What `verify` found: which rule, where, and a sentence. `copy`: a derived copy that --fix can rewrite."""

    rule: str
    where: str
    what: str
    copy: bool = False
