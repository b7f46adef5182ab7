"""What the statements of search answer, by name: see core/rows.py. Apart, so that only who searches loads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rows import IdRow, Select

if TYPE_CHECKING:
    from typing import NamedTuple as Row
else:
    from ..rows import Row


class TurnToIndexRow(Row):
    id: str
    session_id: str
    status: str
    sealed_at: int | None
    unindexed: int


class MessageRow(Row):
    id: str
    session_id: str
    role: str
    metadata_json: str
    created_at: int


class ListedMessageRow(MessageRow):
    begins: bool


class PartToSearchRow(Row):
    message_id: str
    id: str
    type: str
    tool_state: str | None
    data_json: str | None
    beginning: str | None


class DocumentRow(Row):
    number: int
    message_id: str
    part_id: str | None
    role: str
    at: int
    newest: int
    titled: str | None
    checksum: int


class RankedRow(DocumentRow):
    score: float


class DocumentBesideMessageRow(DocumentRow):
    message: str | None


class LastDocumentRow(Row):
    number: int
    newest: int


class SettingRow(Row):
    name: str
    value: str


class TitleRow(Row):
    title: str | None


class StandingRow(Row):
    last: int | None
    indexed: int | None
    has_pages: int
    told: str | None


class SegmentRow(Row):
    segment: int
    pages: int


class WordsPageRow(Row):
    """The rows that FTS5 keeps: pages, which page a term is on, sizes of documents, settings."""

    id: int
    block: bytes


class WordsTermRow(Row):
    segid: int
    term: bytes
    pgno: int


class WordsSizeRow(Row):
    id: int
    sz: bytes
    origin: int


class WordsSettingRow(Row):
    k: str
    v: int


class CountRow(Row):
    turns: int


class RowsChangedRow(Row):
    rows: int


class NumberRow(Row):
    number: int


class WordRow(Row):
    q: str


class ValueRow(Row):
    value: str


class SessionRow(Row):
    id: str
    agent: str
    workspace_root: str | None
    archived_at: int | None
    deleted_at: int | None
    title: str | None
    turn_id: str | None


class SourceRow(Row):
    session_id: str
    value: str


class FollowingRow(Row):
    message_id: str
    following: str | None


class ForkRow(Row):
    session_id: str


class RefRow(Row):
    turn_id: str
    ref: str


class PlaceRow(Row):
    message_id: str
    turn_id: str
    parent_id: str | None
    depth: int
    sealed_at: int | None
    status: str
    provider: str | None
    model: str | None


turns_to_index = Select("turns_to_index", TurnToIndexRow)
turns_to_index_again = Select("turns_to_index_again", TurnToIndexRow)
indexed_turns = Select("indexed_turns", TurnToIndexRow)
turn_to_index = Select("turn_to_index", TurnToIndexRow)
newest_unindexed = Select("newest_unindexed", TurnToIndexRow)
parts_to_search = Select("parts_to_search", PartToSearchRow)
messages_of_turn = Select("messages_of_turn", ListedMessageRow)
unindexed_turn = Select("unindexed_turn", IdRow)
loose_everywhere = Select("loose_everywhere", MessageRow)
loose_among = Select("loose_among", MessageRow)
documents_of_message = Select("documents_of_message", DocumentRow)
documents_of_messages = Select("documents_of_messages", DocumentRow)
documents_beside_messages = Select("documents_beside_messages", DocumentBesideMessageRow)
documents_of_numbers = Select("documents_of_numbers", DocumentRow)
newest_documents = Select("newest_documents", DocumentRow)
newest_words = Select("newest_words", DocumentRow)
ranked_words = Select("ranked_words", RankedRow)
ranked_slices = Select("ranked_slices", RankedRow)
numbers_of_words = Select("numbers_of_words", NumberRow)
words_among = Select("words_among", WordRow)
one_with_words = Select("one_with_words", NumberRow)
last_document = Select("last_document", LastDocumentRow)
index_state = Select("index_state", SettingRow)
hold_index = Select("hold_index", ValueRow)
title_of_session = Select("title_of_session", TitleRow)
words_standing = Select("words_standing", StandingRow)
index_sums = Select("index_sums", ValueRow)
words_pages = Select("words_pages", WordsPageRow)
words_terms = Select("words_terms", WordsTermRow)
words_sizes = Select("words_sizes", WordsSizeRow)
words_settings = Select("words_settings", WordsSettingRow)
documents_between = Select("documents_between", DocumentRow)
all_words_pages = Select("all_words_pages", WordsPageRow)
all_words_terms = Select("all_words_terms", WordsTermRow)
all_words_sizes = Select("all_words_sizes", WordsSizeRow)
all_documents = Select("all_documents", DocumentRow)
words_segments = Select("words_segments", SegmentRow)
rows_changed = Select("rows_changed", RowsChangedRow)
count_turns = Select("count_indexable", CountRow)
count_turns_up_to = Select("count_indexable_up_to", CountRow)
count_unindexed = Select("count_unindexed", CountRow)
messages_to_show = Select("messages_to_show", MessageRow)
parts_of_those = Select("parts_of_those", PartToSearchRow)
sessions_to_show = Select("sessions_to_show", SessionRow)
sources_of_sessions = Select("sources_of_sessions", SourceRow)
following = Select("following", FollowingRow)
forks_to_show = Select("forks_to_show", ForkRow)
refs_of_turns = Select("refs_of_turns", RefRow)
places_to_show = Select("places_to_show", PlaceRow)
