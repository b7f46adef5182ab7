"""A session as a row of Hermes' `sessions`, whoever made it; and what is written of one.

What a session of ours has a place for is there (facts, model, times, title, sums); for the rest see `session_columns`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...base import exact_json
from ...errors import BadValue
from ...numbered import NumberedRows, SummaryRow, Sums
from . import message_rows
from .message_rows import Counted
from .rows import SESSION_COLUMNS, Row
from .session_columns import (
    BILLED,
    BILLING,
    COMPACTED,
    DIGEST,
    OURS,
    PROMPT,
    UNKNOWN,
    joined,
    kept,
    plain_model,
    seconds,
    text,
)

_NO_MODEL = '{"provider_id":"","model_id":""}'
_HIDES = f'"{COMPACTED}":[['  # some rows of its file were summarised, and are not seen
_FIRST_STAYS = ("billing_provider", "billing_base_url", "billing_mode")


def name_of(row: SummaryRow) -> str:
    """What Hermes calls it."""
    return row.app_id or row.id


def source_of(row: SummaryRow) -> str:
    return UNKNOWN if row.source is None else row.source


def metadata(row: SummaryRow) -> dict[str, Any]:
    if row.metadata_json == "{}":
        return {}
    return _parsed(row.metadata_json)


def session_rows(rows: NumberedRows, found: Sequence[SummaryRow]) -> list[Row]:
    return [row for row, _ in with_last(rows, found)]


def with_last(rows: NumberedRows, found: Sequence[SummaryRow]) -> list[tuple[Row, float | None]]:
    """What the columns of several sessions say, and when the last row of each was written; what was counted of them is
    asked for at once."""
    sums = rows.sums([row.id for row in found]) if found else {}
    counted = [_counted(rows, row) for row in found]
    return [(_session_row(rows, row, sums.get(row.id), one), one.last) for row, one in zip(found, counted, strict=True)]


def _session_row(rows: NumberedRows, row: SummaryRow, sums: Sums | None, counted: Counted) -> Row:
    about = metadata(row)
    ours, billing = _inherited(rows, row, kept(about, OURS)), kept(about, BILLED)
    messages, calls, _ = counted
    (spent, said, thought, read, written), estimated, actual = _used(row, sums)
    # fmt: off
    found: Row = dict(zip(SESSION_COLUMNS, (
        name_of(row), source_of(row), row.user_id, _model_of(row, ours), ours.get("model_config"),
        _prompt_of(rows, ours) if ours else None, row.parent_app_id or row.parent_id,
        seconds(row.created_at, ours.get("started_at")),
        None if row.ended_at is None else seconds(row.ended_at, ours.get("ended_at")), row.end_reason, messages, calls,
        spent, said, read, written, thought,
        billing.get("provider"), billing.get("base_url"), billing.get("mode"), estimated, actual,
        billing.get("cost_status"), billing.get("cost_source"), billing.get("pricing_version"), row.title,
    ), strict=True))
    # fmt: on
    return found | _odd(row, ours) if ours else found


def _inherited(rows: NumberedRows, row: SummaryRow, ours: Mapping[str, Any]) -> Mapping[str, Any]:
    """A fork has the prompt and the configuration of the session that it was forked from."""
    if row.relation != "fork" or row.parent_id is None:
        return ours
    origin = rows.summary(row.parent_id)
    given = {} if origin is None else _inherited(rows, origin, kept(metadata(origin), OURS))
    return {name: given[name] for name in (DIGEST, PROMPT, "model_config") if name in given} | dict(ours)


def _odd(row: SummaryRow, ours: Mapping[str, Any]) -> Row:
    """What a file says in columns that a session of ours cannot hold: a very long source, a time before 1970."""
    there = {"source": row.source, "user_id": row.user_id, "title": row.title, "ended_at": row.ended_at}
    there["end_reason"] = row.end_reason
    return {name: ours[name] for name, value in there.items() if value is None and name in ours}


def brief(row: SummaryRow) -> Row:
    """What goes with a row that was found."""
    ours = kept(metadata(row), OURS)
    found: Row = {"id": name_of(row), "source": source_of(row), "model": _model_of(row, ours)}
    return found | {"started_at": seconds(row.created_at, ours.get("started_at"))}


def _counted(rows: NumberedRows, row: SummaryRow) -> Counted:
    opened = rows.open_rows(row.id) if row.has_open else None
    if row.is_irregular or (opened and opened.is_irregular) or _HIDES in row.metadata_json:
        return message_rows.count(rows.read(row.id))
    found = Counted(row.row_count, row.call_count, _last(row))
    if opened is None or not opened.row_count:
        return found
    last = found.last if opened.last_stamp is None else opened.last_stamp
    return Counted(found.messages + opened.row_count, found.calls + opened.call_count, last)


def _last(row: SummaryRow) -> float | None:
    if row.last_stamp is not None or not row.row_count or row.last_message_at is None:
        return row.last_stamp
    return row.last_message_at / 1000


def _used(row: SummaryRow, sums: Sums | None) -> tuple[tuple[int, int, int, int, int], float | None, float | None]:
    """What this dialect was told, if it was told anything; else what the session counted. Tokens, and what they cost as
    a price list says, and as somebody said."""
    if sums is not None:
        return sums.usage.counts(), sums.computed, sums.reported
    counts = (row.prompt_tokens, row.completion_tokens, row.reasoning_tokens, row.cache_read, row.cache_write)
    return counts, None, row.cost_usd or None


def _model_of(row: SummaryRow, ours: Mapping[str, Any]) -> str | None:
    if row.model_json == _NO_MODEL and not ours:
        return None
    model = _parsed(row.model_json)
    name, given = joined(model.get("provider_id"), model.get("model_id")), text(ours, "model")
    return given if given is not None and plain_model(given) == name else name


def _prompt_of(rows: NumberedRows, ours: Mapping[str, Any]) -> str | None:
    digest = text(ours, DIGEST)
    return text(ours, PROMPT) if digest is None else rows.store.system_prompt(digest)


# ---------------------------------------------------------------- what is written


def metadata_of(model: str | None, model_config: Any, digest: str | None) -> dict[str, Any]:
    ours: dict[str, Any] = {DIGEST: digest, "model_config": json.dumps(model_config) if model_config else None}
    ours["model"] = model if model is not None and plain_model(model) != model else None
    found = {name: value for name, value in ours.items() if value is not None}
    return {OURS: found} if found else {}


def with_prompt(about: Mapping[str, Any], digest: str | None) -> dict[str, Any]:
    """The change of a session's metadata by which it has another system prompt."""
    ours = {key: value for key, value in kept(about, OURS).items() if key not in (PROMPT, DIGEST)}
    return {OURS: (ours | ({DIGEST: digest} if digest is not None else {})) or None}


def with_billing(about: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """The change of a session's metadata by which it is paid for so; who bills it stays who did first."""
    before = dict(kept(about, BILLED))
    after = dict(before)
    for column, value in told.items():
        key = BILLING[column]
        if value is not None and (column not in _FIRST_STAYS or after.get(key) is None):
            after[key] = value
    return {BILLED: after} if after != before else {}


def _parsed(given: str) -> dict[str, Any]:
    try:
        value = exact_json.parse(given)
    except BadValue:  # another program wrote it; verify says so
        return {}
    return value if isinstance(value, dict) else {}
