"""What each SELECT answers, by name: the only place that knows the order of columns.

A row is read as `rows.turn.one(tx, turn=turn_id)`, and its values as `row.parent_id`. A test prepares every statement
and compares its columns with the fields here, so a column that is added or moved cannot be taken for another one.
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found]
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..db.engine import Tx
from ..db.queries import Q

R = TypeVar("R", bound=tuple[Any, ...])

if TYPE_CHECKING:
    from typing import NamedTuple as Row
else:

    class _RowType(type):
        """What `NamedTuple` makes of fields, at a tenth of its price: every start of a program pays for them all."""

        def __new__(meta, name, bases, members):
            before = (field for base in bases for field in getattr(base, "_fields", ()))
            fields = (*before, *members.get("__annotations__", ()))  # a row may begin with the columns of another
            getters = {field: _tuplegetter(place, "") for place, field in enumerate(fields)}
            return super().__new__(meta, name, bases, members | getters | {"_fields": fields, "__slots__": ()})

    class Row(tuple, metaclass=_RowType):
        """A row whose values have the names of its columns."""

        _make = classmethod(tuple.__new__)

        def __new__(cls, *values, **named):
            return tuple.__new__(cls, (*values, *(named[field] for field in cls._fields[len(values) :])))

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(map('{}={!r}'.format, self._fields, self))})"


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


class HeadRow(Row):
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


class ReflogRow(Row):
    seq: int
    kind: str
    turn_id: str | None
    revision: int
    at: int
    ref_seq: int | None
    reason: str | None
    link: bytes


class HeadAtRow(Row):
    turn_id: str | None
    revision: int
    seq: int


head = Select("read_head", HeadRow)
history = Select("history", ReflogRow)
head_at = Select("head_at", HeadAtRow)


# ---------------------------------------------------------------- turns


class TurnRow(Row):
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


class ThreadOfRow(Row):
    """What a turn adds up from its root; where it jumps to, and where that one does."""

    digest: bytes | None
    depth: int
    thread_tokens: int
    thread_messages: int
    thread_results: int | None
    thread_calls: int | None
    jump: str | None
    jump_depth: int | None
    jump_on: str | None
    depth_on: int | None


class OpenTurnRow(Row):
    id: str
    base_revision: int
    status: str
    owner: str | None
    begin_seq: int
    response_id: str | None
    fence: int


class PlaceRow(Row):
    """Where a turn stands: its parent, its home, and whether it is sealed."""

    parent_id: str | None
    sealed_at: int | None
    session_id: str


class ParentRow(Row):
    parent_id: str | None


class ListingRow(Row):
    """A turn that lists a message."""

    turn_id: str
    client_id: str | None
    sealed_at: int | None
    depth: int
    session_id: str


class HomeTurnRow(Row):
    turn_id: str
    parent_id: str | None
    sealed_at: int | None
    metadata_json: str


class KindRow(Row):
    id: str
    kind: str


class AsideRow(Row):
    base_revision: int
    begin_seq: int
    facts_json: str


class FactsRow(Row):
    facts_json: str


turn = Select("get_turn", TurnRow)
thread_of = Select("thread_of", ThreadOfRow)
place_of_turn = Select("parent_and_seal", PlaceRow)
parent_of = Select("parent_of", ParentRow)
turns_of_message = Select("turns_of_message", ListingRow)
home_turn_of_message = Select("home_turn_of_message", HomeTurnRow)
path_kinds = Select("path_kinds", KindRow)
turn_to_set_aside = Select("turn_to_set_aside", AsideRow)
facts_of_turn = Select("facts_of_turn", FactsRow)
open_turns = Select("open_turns", OpenTurnRow)


# ---------------------------------------------------------------- messages and parts


class MessageRow(Row):
    id: str
    session_id: str
    role: str
    metadata_json: str
    created_at: int


class PartRow(Row):
    id: str
    place: int
    type: str
    data_json: str


message = Select("get_message", MessageRow)
parts = Select("parts_of_message", PartRow)


class UserMessageRow(Row):
    id: str
    session_id: str


class TailRow(Row):
    """An open turn whose chunks are to be folded into its response."""

    id: str
    begin_seq: int
    response_id: str | None
    status: str
    facts_json: str


class OpenTailRow(Row):
    session_id: str
    id: str
    begin_seq: int
    response_id: str | None
    status: str
    facts_json: str


class PlaceInMessageRow(Row):
    message_id: str
    place: int


nearest_user_message = Select("nearest_user_message", UserMessageRow)
tail_turns = Select("tail_turns", TailRow)
open_tail_turn = Select("open_turn", OpenTailRow)
pruned_places = Select("pruned_places", PlaceInMessageRow)


# ---------------------------------------------------------------- sessions


class SessionRow(Row):
    """A row of the view `session_rows`, and the marks of a list."""

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
    ended_at: int | None
    end_reason: str | None
    last_message_at: int | None
    app_id: str | None
    open_turns: str | None


# ---------------------------------------------------------------- sessions, names, owners


class StampsRow(Row):
    metadata_json: str
    archived_at: int | None
    deleted_at: int | None


class ColumnsRow(Row):
    """What `update` may change of a session's row."""

    workspace_root: str | None
    model_json: str
    created_at: int
    deleted_at: int | None


class FactRow(Row):
    name: str
    value: str


class MadeRow(Row):
    created_at: int
    agent: str


class SourceRow(Row):
    agent: str
    workspace_root: str | None
    model_json: str
    preview: str | None


class TitledRow(Row):
    session_id: str
    title: str


class ContinuationRow(Row):
    session_id: str
    deleted_at: int | None


class ChildRow(Row):
    session_id: str
    relation: str
    turn_id: str | None
    origin_turn: str | None
    origin_call: str | None
    agent: str
    title: str | None
    preview: str | None
    depth: int | None


class AliasRow(Row):
    session_id: str
    turn_id: str | None


class NameRow(Row):
    namespace: str
    name: str


class UsageRow(Row):
    session_id: str
    n: int
    turn_id: str | None
    message_id: str | None
    key: str | None
    source: str
    provider: str | None
    model: str | None
    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    cost_reported: float | None
    cost_computed: float | None
    price: str | None
    at: int


class ContextTokensRow(Row):
    input: int
    output: int
    cache_read: int
    cache_write: int


class CompactionRow(Row):
    turn_id: str
    summary: str
    summarized_through_turn_id: str | None
    first_kept_turn_id: str | None
    turns_summarized: int | None
    compaction_type: str
    model: str | None
    provider: str | None
    tokens_before: int | None
    tokens_after: int | None
    summary_tokens: int | None
    summarization_input_tokens: int | None
    summarization_output_tokens: int | None
    duration_ms: int | None
    trigger: str | None
    metadata_json: str | None


compaction = Select("get_compaction", CompactionRow)
usage_by_key = Select("usage_by_its_key", UsageRow)
usage_of_session = Select("usage_of_session", UsageRow)
newest_usage_of_turn = Select("newest_usage_of_turn", ContextTokensRow)
session = Select("get_session", SessionRow)  # unpacked by `read.sessions`, in this order


class StandingRow(Row):
    """What a turn falls back on."""

    permissions_json: str | None
    model_json: str | None
    agent: str | None


session_standing = Select("session_standing", StandingRow)
session_stamps = Select("session_stamps", StampsRow)
session_columns = Select("session_columns", ColumnsRow)
facts_of_session = Select("facts_of_session", FactRow)
session_made = Select("session_exists", MadeRow)
fork_source = Select("fork_source", SourceRow)
children_of = Select("children_of", ChildRow)
continuations_of = Select("continuations_of", ContinuationRow)
newest_titled = Select("newest_titled", TitledRow)
highest_of_lineage = Select("highest_of_lineage", TitledRow)
alias = Select("find_alias", AliasRow)
aliases_of = Select("aliases_of", NameRow)


# ---------------------------------------------------------------- the queue


class QueuedRow(Row):
    id: str
    turn_id: str
    payload: bytes
    queued_at: int
    claims: int
    status: str
    sealed_at: int | None
    facts_json: str


class QueuedTurnRow(Row):
    id: str
    queued_at: int
    claims: int


class PendingRow(Row):
    id: str
    turn_id: str
    queued_at: int
    claims: int


class DeliveryRow(Row):
    session_id: str
    turn_id: str
    payload: bytes


queued = Select("find_queued", QueuedRow)
queued_turn = Select("queued_turn", QueuedTurnRow)
pending = Select("pending", PendingRow)
delivery = Select("find_delivery", DeliveryRow)


class NamespacedAliasRow(Row):
    session_id: str
    turn_id: str | None
    namespace: str


class NameHolderRow(Row):
    session_id: str
    namespace: str  # "id": by an id, ours or the application's
    turn_id: str | None


class IdRow(Row):
    id: str


class PromptBodyRow(Row):
    body: str


holders_of_name = Select("holders_of_name", NameHolderRow)
aliases_named = Select("find_alias_anywhere", NamespacedAliasRow)
foreign_id = Select("find_foreign_id", IdRow)
system_prompt = Select("get_prompt", PromptBodyRow)
body = Select("get_body", PromptBodyRow)


# ---------------------------------------------------------------- what came from elsewhere


class NativeKeyRow(Row):
    turn_id: str
    digest: bytes


class NativeItemRow(Row):
    item: str
    digest: bytes


class NativeRow(Row):
    turn_id: str
    origin: str
    item: str
    digest: bytes
    body: bytes | None
    codec: str | None
    file: str | None
    place: int | None


class TurnIdRow(Row):
    turn_id: str | None


class NewestLineRow(Row):
    seq: int
    at: int
    link: bytes


natives_beginning = Select("natives_beginning", NativeKeyRow)
natives_ending = Select("natives_ending", TurnIdRow)
native_items = Select("native_items", NativeItemRow)
natives_of_turn = Select("natives_of_turn", NativeRow)
newest_graft = Select("newest_graft", TurnIdRow)
newest_line = Select("newest_line", NewestLineRow)


# ---------------------------------------------------------------- what a store looks for when it opens


class AnyOpenTurnRow(Row):
    session_id: str
    id: str
    status: str
    owner: str | None


class SessionIdRow(Row):
    session_id: str


all_open_turns = Select("all_open_turns", AnyOpenTurnRow)
sessions_with_loose_rows = Select("sessions_with_loose_rows", SessionIdRow)
idle_owners = Select("idle_owners", IdRow)


# ---------------------------------------------------------------- parts of a path


class StepRow(Row):
    """A turn on the way to a root."""

    id: str
    depth: int


class SpotRow(Row):
    """A line on a path."""

    turn_id: str
    depth: int
    seq: int


class ListedRow(Row):
    turn_id: str
    depth: int
    seq: int
    thread_messages: int


class LineRow(Row):
    """A line of a turn; None: a turn without."""

    turn_id: str
    depth: int
    seq: int | None


class KnownAsRow(Row):
    turn_id: str
    ref: str


class SeqRow(Row):
    seq: int


class StrayRow(Row):
    stray_seq: int | None


class PathPartRow(Row):
    turn_id: str
    message_id: str
    client_id: str | None
    id: str
    place: int
    type: str
    data_json: str


way_back = Select("way_back", StepRow)
meeting_turn = Select("meeting_turn", StepRow)
listing_on_path = Select("listing_on_path", ListedRow)
client_id_on_path = Select("client_id_on_path", KnownAsRow)
message_after = Select("message_after", SeqRow)
line_of_part = Select("line_of_part", SeqRow)
part_at = Select("part_at", IdRow)
lines_back = Select("lines_back", SpotRow)
lines_forward = Select("lines_forward", LineRow)
parts_of_window = Select("parts_of_window", PathPartRow)
turns_back = Select("turns_back", TurnRow)
known_turns = Select("known_turns", TurnRow)
is_known = Select("is_known", IdRow)
strays_after = Select("strays_after", TurnRow)
strays_before = Select("strays_before", TurnRow)
stray_seq_of = Select("stray_seq_of", StrayRow)
history_after = Select("history_after", ReflogRow)
history_before = Select("history_before", ReflogRow)
