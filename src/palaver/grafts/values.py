"""History from elsewhere as values: what an importer gives to `store.graft`, and what it is told.

A source is sessions, a session is turns in the order in which they happened, a turn is the items that it was made of:
lines of a file, elements of an array, exactly as they were found. The items decide what is new; what they say is asked
for only where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ..errors import PalaverError


class GraftItem(msgspec.Struct, frozen=True):
    """An item of the source as it was found, byte for byte; its id there, if it has one; the file, and at which byte
    of it."""

    body: bytes
    id: str | None = None
    file: str | None = None
    place: int | None = None


class GraftUsage(msgspec.Struct, frozen=True):
    """What one response of an API used: counts as `turn.usage` takes them. `at` in epoch milliseconds."""

    usage: Any
    cost_usd: float | None = None
    model: Any = None
    key: str | None = None
    source: str | None = None  # None: the origin
    at: int | None = None


class GraftCompaction(msgspec.Struct, frozen=True):
    """A summary that stands for the turns before. `keep_from` is the last item of the first turn that it does not stand
    for, `options` are those of `session.compact`."""

    summary: str
    keep_from: str | None = None
    options: Mapping[str, Any] = {}


class GraftTurn(msgspec.Struct, frozen=True):
    """A turn of the source. `parent` is the id of the last item of the turn before it, or the id of a turn of ours;
    "previous" the one that came just before, None nothing. A message is one as `commit` takes it, and may have a
    `created_at`; times are epoch milliseconds. `status` None: as its tool calls say.

    `rest(n)` is what the turn says after its first n items, as a turn of those that follow: a source that grew in the
    middle of a turn goes on with it. None: it cannot be divided there (a result belongs to a call before it), and all
    of it comes in again. Where `rest` is given, the other fields are not looked at but through `rest(0)`."""

    items: Sequence[GraftItem]
    messages: Sequence[Any] = ()
    parent: str | Literal["previous"] | None = "previous"
    started_at: int | None = None
    sealed_at: int | None = None
    status: str | None = None
    usage: Sequence[GraftUsage] = ()
    options: Mapping[str, Any] = {}  # of `session.turn`: model, agent, system_prompt, tools …
    facts: Mapping[str, Any] = {}  # anything else that is known of it
    homeless: Sequence[str] = ()  # what of its items none of the messages says: told, and kept in the items
    compaction: GraftCompaction | None = None
    rest: Callable[[int], GraftTurn | None] | None = None


class GraftMove(msgspec.Struct, frozen=True):
    """The source's head went to the turn that ends with an item (None: before everything), without saying anything."""

    to: str | None
    at: int | None = None
    reason: str | None = None


class GraftSession(msgspec.Struct, frozen=True):
    """A session of the source: which program it is of, its id there, its turns and moves as they happened, and what a
    new session of ours begins with. `into` is one that is there and takes them in; `parent` a session it came from, by
    its id there or ours; a fact that is None is not taken over from there. `ended_at`: it is over since then, and
    `end_reason` says why; one that is not over here ends, too, whenever that is told."""

    origin: str
    id: str
    turns: Iterable[GraftTurn | GraftMove]
    agent: str = "assistant"
    title: str | None = None
    created_at: int | None = None
    workspace: str | None = None
    model: Any = None
    metadata: Mapping[str, Any] | None = None
    facts: Mapping[str, str | None] = {}
    parent: str | None = None
    relation: str | None = None
    into: str | None = None
    ended_at: int | None = None
    end_reason: str | None = None


# ---------------------------------------------------------------- what came of it


class GraftProblem(msgspec.Struct, frozen=True):
    """What could not be brought in: where it is in the source, and why."""

    origin: str
    session: str
    item: str | None
    file: str | None
    place: int | None
    error: PalaverError

    def __str__(self) -> str:
        where = f"{self.file or self.origin}" + ("" if self.place is None else f", byte {self.place}")
        return f"{where}, session {self.session}{'' if self.item is None else f', item {self.item}'}: {self.error}"


class GraftedSession(msgspec.Struct, frozen=True):
    """What became of one session: our id, how many turns and items are new, how many items were here, how many of the
    turns are kept beside the path because the session went on here, how much no message says. `skipped`: it is archived
    or deleted here, and was left alone."""

    origin: str
    foreign_id: str
    session_id: str | None
    is_new: bool = False
    turns: int = 0
    items: int = 0
    known: int = 0
    beside: int = 0
    homeless: int = 0
    skipped: str | None = None


class GraftReport(msgspec.Struct, frozen=True):
    sessions: list[GraftedSession]
    problems: list[GraftProblem]

    @property
    def turns(self) -> int:
        return sum(session.turns for session in self.sessions)

    @property
    def items(self) -> int:
        return sum(session.items for session in self.sessions)


class GraftProgress(msgspec.Struct, frozen=True):
    """After each transaction: sessions begun, new turns, items looked at, and their bytes."""

    sessions: int
    turns: int
    items: int
    bytes: int


class Native(msgspec.Struct, frozen=True):
    """An item of another program as it was given. `body` is None where it was erased."""

    turn_id: str
    origin: str
    item: str
    digest: bytes
    body: bytes | None
    file: str | None
    place: int | None
