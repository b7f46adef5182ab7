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


class PlaceRow(NamedTuple):
    """Where a turn stands: its parent, and whether it is sealed."""

    parent_id: str | None
    sealed_at: int | None


class ParentRow(NamedTuple):
    parent_id: str | None


class ListingRow(NamedTuple):
    """A turn that lists a message."""

    turn_id: str
    client_id: str | None
    sealed_at: int | None
    depth: int
    session_id: str


class HomeTurnRow(NamedTuple):
    turn_id: str
    parent_id: str | None
    sealed_at: int | None
    metadata_json: str


class KindRow(NamedTuple):
    id: str
    kind: str


class AsideRow(NamedTuple):
    base_revision: int
    begin_seq: int
    facts_json: str


class FactsRow(NamedTuple):
    facts_json: str


class WhereRow(NamedTuple):
    """Whether an open turn is still its writer's, and the numbers of its session."""

    status: str
    sealed_at: int | None
    fence: int
    event_seq: int
    base_revision: int
    newest_event: int | None


turn = Select("get_turn", TurnRow)
place_of_turn = Select("parent_and_seal", PlaceRow)
parent_of = Select("parent_of", ParentRow)
turns_of_message = Select("turns_of_message", ListingRow)
home_turn_of_message = Select("home_turn_of_message", HomeTurnRow)
path_kinds = Select("path_kinds", KindRow)
turn_to_set_aside = Select("turn_to_set_aside", AsideRow)
facts_of_turn = Select("facts_of_turn", FactsRow)
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


class UserMessageRow(NamedTuple):
    id: str
    session_id: str


class TailRow(NamedTuple):
    """An open turn whose chunks are to be folded into its response."""

    id: str
    begin_seq: int
    response_id: str | None
    status: str
    facts_json: str


class OpenTailRow(NamedTuple):
    session_id: str
    id: str
    begin_seq: int
    response_id: str | None
    status: str
    facts_json: str


class PlaceInMessageRow(NamedTuple):
    message_id: str
    place: int


last_user_message = Select("last_user_message_of_turn", UserMessageRow)
tail_turns = Select("tail_turns", TailRow)
open_tail_turn = Select("open_turn", OpenTailRow)
pruned_places = Select("pruned_places", PlaceInMessageRow)


# ---------------------------------------------------------------- sessions


class SessionRow(NamedTuple):
    """A row of the view `session_rows`."""

    id: str
    agent: str
    workspace_root: str | None
    model_json: str | None
    title: str | None
    preview: str | None
    parent_id: str | None
    parent_message_id: str | None
    relation: str | None
    revision: int | None
    turn_id: str | None
    depth: int | None
    thread_messages: int | None
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cache_read: int
    cache_write: int
    total_tokens: int
    cost_usd: float
    metadata_json: str
    created_at: int
    updated_at: int
    archived_at: int | None
    deleted_at: int | None


# ---------------------------------------------------------------- sessions, names, owners


class SessionIdRow(NamedTuple):
    session_id: str


class StampsRow(NamedTuple):
    metadata_json: str
    archived_at: int | None
    deleted_at: int | None


class MadeRow(NamedTuple):
    created_at: int
    agent: str


class SourceRow(NamedTuple):
    agent: str
    workspace_root: str | None
    model_json: str
    preview: str | None


class AliasRow(NamedTuple):
    session_id: str
    turn_id: str | None


class NameRow(NamedTuple):
    namespace: str
    name: str


session = Select("get_session", SessionRow)
session_stamps = Select("session_stamps", StampsRow)
session_made = Select("session_exists", MadeRow)
fork_source = Select("fork_source", SourceRow)
alias = Select("find_alias", AliasRow)
aliases_of = Select("aliases_of", NameRow)


# ---------------------------------------------------------------- the queue


class QueuedRow(NamedTuple):
    id: str
    turn_id: str
    payload: bytes
    queued_at: int
    claims: int
    status: str
    sealed_at: int | None
    facts_json: str


class QueuedTurnRow(NamedTuple):
    id: str
    queued_at: int
    claims: int


class PendingRow(NamedTuple):
    id: str
    turn_id: str
    queued_at: int
    claims: int


class DeliveryRow(NamedTuple):
    session_id: str
    turn_id: str
    payload: bytes


queued = Select("find_queued", QueuedRow)
queued_turn = Select("queued_turn", QueuedTurnRow)
pending = Select("pending", PendingRow)
delivery = Select("find_delivery", DeliveryRow)


class NamespacedAliasRow(NamedTuple):
    session_id: str
    turn_id: str | None
    namespace: str


class IdRow(NamedTuple):
    id: str


class PromptBodyRow(NamedTuple):
    body: str


session_stamps = Select("session_stamps", StampsRow)
sessions_with_loose_rows = Select("sessions_with_loose_rows", SessionIdRow)
alias = Select("find_alias", AliasRow)
aliases_named = Select("find_alias_anywhere", NamespacedAliasRow)
foreign_id = Select("find_foreign_id", IdRow)
idle_owners = Select("idle_owners", IdRow)
system_prompt = Select("get_prompt", PromptBodyRow)


# ---------------------------------------------------------------- verify, trimming, the journal


class PromptRow(NamedTuple):
    digest: str
    size: int
    body: str | None


class ThreadRow(NamedTuple):
    digest: bytes | None
    depth: int
    thread_tokens: int
    thread_messages: int


class EventOfTurnRow(NamedTuple):
    seq: int
    kind: str
    data: str
    at: int


class EventSizeRow(NamedTuple):
    seq: int
    kind: str
    turn: int | None
    size: int


class TurnToTrimRow(NamedTuple):
    session_id: str
    id: str
    begin_seq: int


class JournalRow(NamedTuple):
    seq: int
    statement: str
    data: str


class StreamingResponseRow(NamedTuple):
    begin_seq: int
    usage_told: int
    turn_id: str


class StreamedPartRow(NamedTuple):
    begin_seq: int
    place: int
    turn_id: str


class TurnEdgeRow(NamedTuple):
    """A turn as the tree needs it."""

    id: str
    parent_id: str | None
    session_id: str
    base_revision: int
    status: str
    live: int
    sealed_at: int | None
    response_id: str | None
    usage_told: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_read: int
    cache_write: int
    messages: int


class TurnBesideParentRow(NamedTuple):
    id: str
    parent_id: str | None
    session_id: str
    kind: str
    status: str
    sealed_at: int | None
    digest: bytes | None
    depth: int
    thread_tokens: int
    thread_messages: int
    response_id: str | None
    parent_sealed_at: int | None
    parent_digest: bytes | None
    facts_json: str


class StoredEntryRow(NamedTuple):
    """An entry beside the row it is about. `size` is None where that is gone, `stored` where it is large."""

    turn_id: str
    seq: int
    kind: str
    ref: str
    salt: bytes | None
    leaf: bytes | None
    name: str | None  # role or type
    message_id: str | None  # of a part
    size: int | None
    stored: str | None


class SessionBesideHeadRow(NamedTuple):
    id: str
    agent: str
    model_json: str
    permissions_json: str
    metadata_json: str
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cache_read: int
    cache_write: int
    total_tokens: int
    head_of: str | None  # None: it has no head
    turn_id: str | None
    revision: int
    event_seq: int
    preview: str | None
    deleted_at: int | None
    relation: str
    created_at: int
    updated_at: int
    cost_usd: float


class MessageListingRow(NamedTuple):
    """`metadata_json` is None where it is large; `entries` are those that list the message, as one text."""

    id: str
    role: str
    metadata_json: str | None
    created_at: int
    entries: str | None


class CopyListingRow(NamedTuple):
    copy_id: str
    message_id: str
    row_id: str | None  # None: the copy's row is gone
    metadata_json: str | None
    entries: str | None


class MessageHomeRow(NamedTuple):
    id: str
    session_id: str
    entries: str | None


class PartNumbersRow(NamedTuple):
    message_id: str
    parts: int
    lowest: int
    highest: int
    different: int


class PartColumnsRow(NamedTuple):
    id: str
    session_id: str
    home: str | None
    type: str
    tool_call_id: str | None
    tool_state: str | None
    size: int | None  # None: no tool's
    data_json: str | None


class HeadBesideSessionRow(NamedTuple):
    session_id: str
    row_id: str | None


class SumsBesideParentRow(NamedTuple):
    parent_depth: int
    parent_tokens: int
    parent_messages: int
    messages: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_read: int
    cache_write: int


class ImportedEntryRow(NamedTuple):
    """An entry beside the row it is about. `usage_told`: the store added usage to the message."""

    kind: str
    ref: str
    salt: bytes | None
    leaf: bytes | None
    name: str | None
    stored: str | None
    usage_told: int | None
    message_id: str | None


reflog_page = Select("lines_of_session", ReflogRow)
thread = Select("thread_of", ThreadRow)
events_of_turn = Select("events_of_turn", EventOfTurnRow)
events_between = Select("events_between", EventSizeRow)
turns_to_trim = Select("turns_to_trim", TurnToTrimRow)
journal = Select("read_journal", JournalRow)
streaming_response = Select("streaming_response", StreamingResponseRow)
streamed_part = Select("streamed_part", StreamedPartRow)
turn_edges = Select("turn_edges", TurnEdgeRow)
turns_beside_parents = Select("turns_beside_parents", TurnBesideParentRow)
stored_entries = Select("stored_lines", StoredEntryRow)
sessions_beside_heads = Select("all_sessions", SessionBesideHeadRow)
message_listings = Select("messages_of_session", MessageListingRow)
copy_listings = Select("copies_of_session", CopyListingRow)
message_homes = Select("homes_of_messages", MessageHomeRow)
part_numbers = Select("places_of_parts", PartNumbersRow)
part_columns = Select("columns_of_parts", PartColumnsRow)
prompts = Select("all_prompts", PromptRow)
heads_beside_sessions = Select("heads_beside_sessions", HeadBesideSessionRow)
sums_beside_parent = Select("sums_beside_parent", SumsBesideParentRow)
imported_entries = Select("import_lines", ImportedEntryRow)


# ---------------------------------------------------------------- exports


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
