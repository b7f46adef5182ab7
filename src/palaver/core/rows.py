"""What each SELECT answers, by name: the only place that knows the order of columns.

A row is read as `rows.turn.one(tx, turn=turn_id)`, and its values as `row.parent_id`. A test prepares every statement
and compares its columns with the fields here, so a column that is added or moved cannot be taken for another one.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from ..db.engine import Tx
from ..db.queries import Q

R = TypeVar("R", bound=tuple[Any, ...])


class Select(Generic[R]):
    """A named statement, and what its rows are."""

    __slots__ = ("name", "row")

    def __init__(self, name: str, row: type[R]) -> None:
        self.name, self.row = name, row

    def one(self, tx: Tx, **params: Any) -> R | None:
        found = tx.one(getattr(Q, self.name), **params)
        return None if found is None else self.row._make(found)  # type: ignore[attr-defined]

    def all(self, tx: Tx, **params: Any) -> list[R]:
        make = self.row._make  # type: ignore[attr-defined]
        return [make(found) for found in tx.all(getattr(Q, self.name), **params)]


# ---------------------------------------------------------------- heads


class HeadRow(NamedTuple):
    turn_id: str | None
    revision: int
    event_seq: int
    last_at: int
    looked_at: int
    deleted_at: int | None
    relation: str | None
    origin_id: str | None
    origin_turn: str | None
    title: str | None
    preview: str | None


class ReflogRow(NamedTuple):
    seq: int
    kind: str
    turn_id: str | None
    revision: int
    at: int
    ref_seq: int | None
    reason: str | None
    link: bytes


class HeadAtRow(NamedTuple):
    turn_id: str | None
    revision: int
    seq: int


head = Select("read_head", HeadRow)
history = Select("history", ReflogRow)
head_at = Select("head_at", HeadAtRow)


# ---------------------------------------------------------------- turns


class TurnRow(NamedTuple):
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
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_read: int
    cache_write: int
    cost_usd: float
    thread_tokens: int
    thread_messages: int
    begin_seq: int
    owner: str | None
    fence: int
    usage_told: int
    facts_json: str


class OpenTurnRow(NamedTuple):
    id: str
    base_revision: int
    status: str
    owner: str | None
    begin_seq: int
    response_id: str | None
    fence: int


class AnyOpenTurnRow(NamedTuple):
    session_id: str
    id: str
    status: str
    owner: str | None


turn = Select("get_turn", TurnRow)
open_turns = Select("open_turns", OpenTurnRow)
all_open_turns = Select("all_open_turns", AnyOpenTurnRow)


# ---------------------------------------------------------------- messages and parts


class MessageRow(NamedTuple):
    id: str
    session_id: str
    role: str
    metadata_json: str
    created_at: int


class PartRow(NamedTuple):
    id: str
    place: int
    type: str
    data_json: str


message = Select("get_message", MessageRow)
parts = Select("parts_of_message", PartRow)


# ---------------------------------------------------------------- exports, imports


class LineageRow(NamedTuple):
    id: str
    origin_id: str | None


class HomeRow(NamedTuple):
    """A turn or a message, and the session that wrote it."""

    id: str
    session_id: str


class StandingRow(NamedTuple):
    revision: int | None  # None: the session has no head
    deleted_at: int | None


lineage = Select("export_lineage", LineageRow)
turn_homes = Select("export_turn_homes", HomeRow)
turns_stood_on = Select("export_stood_on", HomeRow)
parents = Select("export_parent", HomeRow)
listed_messages = Select("export_listed", HomeRow)
standing = Select("import_standing", StandingRow)
