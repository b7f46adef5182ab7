"""The nouns of the model: rows, entries, turns in a tree, and sessions that point into it. Plain values, no SQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .fold import Fold

NO_USAGE = (0, 0, 0, 0, 0)
KEYS = ("input", "output", "reasoning", "cache_read", "cache_write")
Counts = tuple[int, int, int, int, int]


@dataclass(eq=False)
class Message:
    """A row. `listed`: some turn lists it; otherwise another program wrote it and it is loose."""

    home: str
    role: str
    parts: list[dict[str, Any]]
    metadata: dict[str, Any]
    stamp: int
    listed: bool = True
    row_id: str | None = None
    told: Counts | None = None  # usage that turn.usage() was told
    queued_at: int | None = None  # while it waits in the queue
    pruned: set[int] = field(default_factory=set)  # places of tool outputs that no model is to see again

    def shown_metadata(self) -> dict[str, Any]:
        told = {} if self.told is None else {"usage": dict(zip(KEYS, self.told, strict=True))}
        return self.metadata | told


@dataclass(eq=False)
class Entry:
    """A turn lists a message, under the id that the client knows it by."""

    message: Message
    known_as: str | None = None

    def shown_id(self) -> str | None:
        return self.known_as or self.message.row_id

    def ui(self) -> dict[str, Any]:
        message = self.message
        shown: dict[str, Any] = {"id": self.shown_id(), "role": message.role, "parts": message.parts}
        metadata = message.shown_metadata()
        return shown | ({"metadata": metadata} if metadata else {})


@dataclass(eq=False)
class Turn:
    key: int
    session: str
    parent: Turn | None
    base: int
    kind: str = "turn"
    status: str = "streaming"
    owner: str | None = None
    entries: list[Entry] = field(default_factory=list)
    response: Message | None = None
    fold: Fold = field(default_factory=Fold)
    usage: Counts = NO_USAGE
    told: bool = False
    id: str | None = None
    ticket: Ticket | None = None
    summary: Summary | None = None
    prompt: str | None = None  # the system prompt it was begun with

    def path(self) -> list[Turn]:
        """From the root to here."""
        path, turn = [self], self.parent
        while turn is not None:
            path.append(turn)
            turn = turn.parent
        return path[::-1]

    def is_open(self) -> bool:
        return self.status in ("streaming", "waiting")

    def finished(self) -> list[Entry]:
        """Its messages, but not the one that is being written."""
        return [e for e in self.entries if e.message is not self.response]


@dataclass(eq=False)
class Ticket:
    """A message that was sent to the queue, and the turn that holds it, pending until somebody claims it."""

    id: str
    turn: Turn
    content: dict[str, Any]
    queued_at: int
    claims: int = 0
    cancelled: bool = False


@dataclass(eq=False)
class Summary:
    """What a compaction says: its text stands for `turns` turns, the last of them `through`."""

    text: str
    through: Turn
    first_kept: Turn | None
    turns: int


@dataclass(eq=False)
class State:
    """One place in the undo stack. `passing`: the move of a begin, which undo skips."""

    turn: Turn | None
    passing: bool = False


@dataclass(eq=False)
class Session:
    id: str
    relation: str
    parent_id: str | None = None
    parent_message: Message | None = None
    has_head: bool = True
    revision: int = 0
    lines: list[str] = field(default_factory=list)  # kinds of the reflog
    past: list[State] = field(default_factory=list)  # ends with the state in force
    future: list[State] = field(default_factory=list)
    open: list[Turn] = field(default_factory=list)  # in begin order
    strays: list[Turn] = field(default_factory=list)
    rows: list[Message] = field(default_factory=list)  # written here, in the order of their stamps
    tickets: dict[str, Ticket] = field(default_factory=dict)  # in the order they were sent
    usage: Counts = NO_USAGE
    archived: bool = False
    deleted: bool = False

    @property
    def head(self) -> Turn | None:
        return self.past[-1].turn if self.past else None

    def path(self) -> list[Turn]:
        return self.head.path() if self.head else []

    def path_entries(self) -> list[Entry]:
        return [entry for turn in self.path() for entry in turn.entries]

    def standing(self) -> list[Turn]:
        """Open turns begun on the current revision: the live tail."""
        return [turn for turn in self.open if turn.base == self.revision]

    def loose(self) -> list[Message]:
        return [row for row in self.rows if not row.listed]

    def read(self) -> list[Entry]:
        """What `messages()` shows."""
        if self.deleted:
            return []
        tail = [Entry(row) for row in self.loose()]
        tail += [entry for turn in self.standing() for entry in turn.entries]
        return self.path_entries() + sorted(tail, key=lambda entry: entry.message.stamp)

    def is_hidden(self, row: Message) -> bool:
        """A row of ours is hidden exactly when it is not in its home session's messages(), unless it is queued."""
        return row.listed and row.queued_at is None and not any(entry.message is row for entry in self.read())

    def waiting(self) -> list[Turn]:
        return [turn for turn in self.open if turn.status == "waiting"]

    def queue(self) -> list[Ticket]:
        return [ticket for ticket in self.tickets.values() if ticket.turn.status == "pending"]
