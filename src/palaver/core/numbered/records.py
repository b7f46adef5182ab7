"""What the statements of numbered rows answer, by name: see core/rows.py. Apart, so that only dialects load them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rows import Select, UsageRow

if TYPE_CHECKING:
    from typing import NamedTuple as Row
else:
    from ..rows import Row


class NumberRow(Row):
    number: int
    stamp: float | None


class NumberedRefRow(Row):
    ref: str
    number: int
    stamp: float | None


class IdRow(Row):
    session_id: str


class TitledRow(Row):
    session_id: str
    title: str
    created_at: int


class CountRow(Row):
    sessions: int


class CountedRow(Row):
    found: int


class SummaryRow(Row):
    """A session as a row."""

    id: str
    app_id: str | None
    model_json: str
    metadata_json: str
    created_at: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cache_read: int
    cache_write: int
    cost_usd: float
    title: str | None
    preview: str | None
    relation: str
    ended_at: int | None
    end_reason: str | None
    last_message_at: int | None
    parent_id: str | None
    parent_app_id: str | None
    source: str | None
    user_id: str | None
    row_count: int
    call_count: int
    is_irregular: int  # its rows have to be read to be counted
    has_open: int  # it has open turns, whose rows are not counted here
    last_stamp: float | None


class OpenRow(Row):
    row_count: int
    call_count: int
    last_stamp: float | None
    is_irregular: int


class SumsRow(Row):
    session_id: str
    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    reported: float | None
    computed: float | None


class SaidRow(Row):
    session_id: str
    data_json: str | None


number_of = Select("number_of", NumberRow)
numbers_of = Select("numbers_of", NumberedRefRow)
numbers_at_home = Select("numbers_at_home", NumberedRefRow)
open_rows = Select("open_rows", OpenRow)
summary_of = Select("summary_of", SummaryRow)
summaries = Select("summaries", SummaryRow)
summaries_by_source = Select("summaries_by_source", SummaryRow)
summaries_of_children = Select("summaries_of_children", SummaryRow)
sessions_beginning = Select("sessions_beginning", IdRow)
irregular_sessions = Select("irregular_sessions", IdRow)
titled = Select("titled", TitledRow)
count_sessions = Select("count_sessions", CountRow)
count_rows = Select("count_rows", CountedRow)
usage_of_source = Select("usage_of_source", UsageRow)
usage_by_source = Select("usage_by_source", SumsRow)
first_said = Select("first_said", SaidRow)
