"""What the statements of verify, trimming, the journal and the exports answer, by name: see core/rows.py.

They are apart so that a program that never asks for these starts without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rows import ReflogRow, Select

if TYPE_CHECKING:
    from typing import NamedTuple as Row
else:
    from ..rows import Row


class ThreadRow(Row):
    digest: bytes | None
    depth: int
    thread_tokens: int
    thread_messages: int


class EventOfTurnRow(Row):
    seq: int
    kind: str
    data: str
    at: int


class EventSizeRow(Row):
    seq: int
    kind: str
    turn: int | None
    size: int


class TurnToTrimRow(Row):
    session_id: str
    id: str
    begin_seq: int


class JournalRow(Row):
    seq: int
    statement: str
    data: str


class StreamingResponseRow(Row):
    begin_seq: int
    usage_told: int
    turn_id: str


class StreamedPartRow(Row):
    begin_seq: int
    place: int
    turn_id: str


class TurnEdgeRow(Row):
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
    started_at: int
    begin_seq: int
    fence: int
    cost_usd: float
    messages: int


class TurnBesideParentRow(Row):
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


class UnfilledRow(Row):
    id: str
    session_id: str
    parent_id: str | None
    depth: int
    kind: str
    sealed_at: int | None
    facts_json: str


class FilledTurnRow(Row):
    """A turn beside the columns that are copies."""

    id: str
    session_id: str
    parent_id: str | None
    depth: int
    kind: str
    sealed_at: int | None
    facts_json: str
    jump: str | None
    thread_results: int | None
    thread_calls: int | None
    model: str | None
    provider: str | None
    role: str | None
    persona: str | None
    workspace: str | None
    mode: str | None
    toolset: str | None
    prompt_digest: str | None
    finish: str | None
    error_code: str | None
    source_event: str | None

    def unfilled(self) -> UnfilledRow:
        return UnfilledRow(
            self.id, self.session_id, self.parent_id, self.depth, self.kind, self.sealed_at, self.facts_json
        )


class UsageSumsRow(Row):
    """What a turn's columns say, and what its usage rows add up to."""

    turn_id: str
    id: str | None
    session_id: str | None
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_read: int
    cache_write: int
    input: int
    output: int
    reasoning: int
    read_sum: int
    write_sum: int
    cost_usd: float
    cost_sum: float | None  # None: no row says what it cost

    def stored(self) -> tuple[int, ...]:
        return (self.input_tokens, self.output_tokens, self.reasoning_tokens, self.cache_read, self.cache_write)

    def right(self) -> tuple[int, ...]:
        return (self.input, self.output, self.reasoning, self.read_sum, self.write_sum)


class StoredEntryRow(Row):
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


class SessionBesideHeadRow(Row):
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
    last_at: int | None


class MessageListingRow(Row):
    """`metadata_json` is None where it is large; `entries` are those that list the message, as one text."""

    id: str
    role: str
    metadata_json: str | None
    created_at: int
    entries: str | None


class CopyListingRow(Row):
    copy_id: str
    message_id: str
    row_id: str | None  # None: the copy's row is gone
    metadata_json: str | None
    entries: str | None


class MessageHomeRow(Row):
    id: str
    session_id: str
    entries: str | None


class PartNumbersRow(Row):
    message_id: str
    parts: int
    lowest: int
    highest: int
    different: int


class PartColumnsRow(Row):
    id: str
    session_id: str
    home: str | None
    type: str
    tool_call_id: str | None
    tool_state: str | None
    size: int | None  # None: no tool's
    data_json: str | None


class PromptRow(Row):
    digest: str
    size: int
    body: str | None


class NativeBesideTurnRow(Row):
    """An item beside its turn; `body` only where it is small."""

    turn_id: str
    seq: int
    session_id: str
    item: str
    digest: bytes
    size: int | None
    body: bytes | None
    codec: str | None
    home: str | None
    sealed_at: int | None


class ExportedNativeRow(Row):
    turn_id: str
    seq: int
    session_id: str
    origin: str
    item: str
    digest: bytes
    body: bytes | None
    codec: str | None
    file: str | None
    place: int | None


class HeadBesideSessionRow(Row):
    session_id: str
    row_id: str | None


class SumsBesideParentRow(Row):
    parent_depth: int
    parent_tokens: int
    parent_messages: int
    messages: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_read: int
    cache_write: int


class ImportedEntryRow(Row):
    """An entry beside the row it is about. `usage_told`: the store added usage to the message."""

    kind: str
    ref: str
    salt: bytes | None
    leaf: bytes | None
    name: str | None
    stored: str | None
    usage_told: int | None
    message_id: str | None


class LineageRow(Row):
    id: str
    origin_id: str | None


class HomeRow(Row):
    """A turn or a message, and the session that wrote it."""

    id: str
    session_id: str


class FactNameRow(Row):
    name: str


class StandingRow(Row):
    revision: int | None  # None: the session has no head
    deleted_at: int | None


reflog_page = Select("lines_of_session", ReflogRow)
thread = Select("sums_of_turn", ThreadRow)
events_of_turn = Select("events_of_turn", EventOfTurnRow)
events_between = Select("events_between", EventSizeRow)
turns_to_trim = Select("turns_to_trim", TurnToTrimRow)
journal = Select("read_journal", JournalRow)
streaming_response = Select("streaming_response", StreamingResponseRow)
streamed_part = Select("streamed_part", StreamedPartRow)
turn_edges = Select("turn_edges", TurnEdgeRow)
unfilled = Select("unfilled_turns", UnfilledRow)
unfilled_turn = Select("unfilled_turn", UnfilledRow)
filled_turns = Select("filled_turns", FilledTurnRow)
usage_sums = Select("usage_sums_of_turns", UsageSumsRow)
turns_beside_parents = Select("turns_beside_parents", TurnBesideParentRow)
stored_entries = Select("stored_lines", StoredEntryRow)
sessions_beside_heads = Select("all_sessions", SessionBesideHeadRow)
message_listings = Select("messages_of_session", MessageListingRow)
copy_listings = Select("copies_of_session", CopyListingRow)
message_homes = Select("homes_of_messages", MessageHomeRow)
part_numbers = Select("places_of_parts", PartNumbersRow)
part_columns = Select("columns_of_parts", PartColumnsRow)
prompts = Select("all_prompts", PromptRow)
natives_beside_turns = Select("natives_beside_turns", NativeBesideTurnRow)
exported_natives = Select("export_natives", ExportedNativeRow)
heads_beside_sessions = Select("heads_beside_sessions", HeadBesideSessionRow)
sums_beside_parent = Select("sums_beside_parent", SumsBesideParentRow)
imported_entries = Select("import_lines", ImportedEntryRow)
lineage = Select("export_lineage", LineageRow)
turn_homes = Select("export_turn_homes", HomeRow)
turns_stood_on = Select("export_stood_on", HomeRow)
parents = Select("export_parent", HomeRow)
listed_messages = Select("export_listed", HomeRow)
stale_facts = Select("facts_of_another_time", FactNameRow)
standing = Select("import_standing", StandingRow)
