"""A session as a row of Hermes' `sessions`: where each of its columns is kept, both ways.

What a session of ours has a place for is there (facts, model, times, title, sums); the rest is in its metadata, under
`hermes` and `billing`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...base import exact_json
from ...errors import BadValue
from ...numbered import NumberedRows, SummaryRow
from .rows import SESSION_COLUMNS, Row

AGENT, UNKNOWN = "hermes", "unknown"
_OURS, _BILLING = "hermes", "billing"
# Columns that say how a session is paid for, as they are called in `billing`.
BILLING = {
    "billing_provider": "provider",
    "billing_base_url": "base_url",
    "billing_mode": "mode",
    "cost_status": "cost_status",
    "cost_source": "cost_source",
    "pricing_version": "pricing_version",
}
_FIRST_STAYS = ("billing_provider", "billing_base_url", "billing_mode")


def name_of(row: SummaryRow) -> str:
    """What Hermes calls it."""
    return row.app_id or row.id


def source_of(row: SummaryRow) -> str:
    return UNKNOWN if row.source is None else row.source


def session_row(rows: NumberedRows, row: SummaryRow) -> Row:
    about = _parsed(row.metadata_json)
    ours, billing = _object(about, _OURS), _object(about, _BILLING)
    found: Row = dict.fromkeys(SESSION_COLUMNS)
    found |= {"id": name_of(row), "source": source_of(row), "user_id": row.user_id, "title": row.title}
    found |= {"model": _model_of(row, ours), "model_config": ours.get("model_config")}
    found["system_prompt"] = _prompt_of(rows, ours)
    found["parent_session_id"] = row.parent_app_id or row.parent_id
    found["started_at"] = _seconds(row.created_at, ours.get("started_at"))
    found["ended_at"] = None if row.ended_at is None else _seconds(row.ended_at, ours.get("ended_at"))
    found["end_reason"] = row.end_reason
    found |= {column: billing.get(key) for column, key in BILLING.items()}
    return found | _counts(rows, row) | _usage(rows, row)


def brief(row: SummaryRow) -> Row:
    """What goes with a row that was found."""
    ours = _object(_parsed(row.metadata_json), _OURS)
    found: Row = {"id": name_of(row), "source": source_of(row), "model": _model_of(row, ours)}
    return found | {"started_at": _seconds(row.created_at, ours.get("started_at"))}


def last_active(rows: NumberedRows, row: SummaryRow) -> float | None:
    """When the last row was written; None: there is none."""
    if row.is_irregular:
        from .message_rows import said

        return max((one.at for one in said(rows.read(row.id))), default=None)
    if row.thread_messages is None or row.last_message_at is None:
        return None
    return row.last_message_at / 1000 if row.last_stamp is None else row.last_stamp


def _counts(rows: NumberedRows, row: SummaryRow) -> Row:
    if row.is_irregular:
        from .message_rows import counts

        return counts(rows.read(row.id))
    said = (row.thread_messages or 0) + (row.thread_results or 0) - row.interrupted
    return {"message_count": said, "tool_call_count": row.thread_calls or 0}


def _usage(rows: NumberedRows, row: SummaryRow) -> Row:
    """What this dialect was told, if it was told anything; else what the session counted."""
    sums = rows.sums(row.id)
    if sums is None:
        counts = (row.prompt_tokens, row.completion_tokens, row.reasoning_tokens, row.cache_read, row.cache_write)
        estimated, actual = None, row.cost_usd or None
    else:
        counts, estimated, actual = sums.usage.counts(), sums.computed, sums.reported
    spent, said, thought, read, written = counts
    found: Row = {"input_tokens": spent, "output_tokens": said, "reasoning_tokens": thought}
    found |= {"cache_read_tokens": read, "cache_write_tokens": written}
    return found | {"estimated_cost_usd": estimated, "actual_cost_usd": actual}


def _model_of(row: SummaryRow, ours: Mapping[str, Any]) -> str | None:
    model = _parsed(row.model_json)
    name = joined(model.get("provider_id"), model.get("model_id"))
    given = ours.get("model")
    return given if isinstance(given, str) and plain_model(given) == name else name


def joined(provider: Any, model: Any) -> str | None:
    if not isinstance(model, str) or not model:
        return None
    return f"{provider}/{model}" if isinstance(provider, str) and provider else model


def plain_model(given: str) -> str | None:
    """What comes back of a model's name once it was taken apart."""
    provider, slash, name = given.partition("/")
    return joined(provider, name) if slash else joined("", given)


def _prompt_of(rows: NumberedRows, ours: Mapping[str, Any]) -> str | None:
    digest = ours.get("system_prompt_digest")
    if isinstance(digest, str):
        return rows.store.system_prompt(digest)
    text = ours.get("system_prompt")
    return text if isinstance(text, str) else None


def _seconds(stamp: int, exact: Any) -> float:
    """A time in seconds; as it was given, where that is known and still holds."""
    if isinstance(exact, float | int) and not isinstance(exact, bool) and int(exact * 1000) == stamp:
        return float(exact)
    return stamp / 1000


# ---------------------------------------------------------------- what is written


def metadata_of(model: str | None, model_config: Any, digest: str | None) -> dict[str, Any]:
    ours: dict[str, Any] = {"system_prompt_digest": digest}
    ours["model_config"] = json.dumps(model_config) if model_config else None
    ours["model"] = model if model is not None and plain_model(model) != model else None
    kept = {name: value for name, value in ours.items() if value is not None}
    return {_OURS: kept} if kept else {}


def with_prompt(about: Mapping[str, Any], digest: str | None) -> dict[str, Any]:
    """The change of a session's metadata by which it has another system prompt."""
    ours = {key: value for key, value in _object(about, _OURS).items() if not key.startswith("system_prompt")}
    return {_OURS: (ours | ({"system_prompt_digest": digest} if digest is not None else {})) or None}


def with_billing(about: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """The change of a session's metadata by which it is paid for so; who bills it stays who did first."""
    before = dict(_object(about, _BILLING))
    after = dict(before)
    for column, value in told.items():
        key = BILLING[column]
        if value is not None and (column not in _FIRST_STAYS or after.get(key) is None):
            after[key] = value
    return {_BILLING: after} if after != before else {}


def _parsed(text: str) -> dict[str, Any]:
    try:
        value = exact_json.parse(text)
    except BadValue:  # another program wrote it; verify says so
        return {}
    return value if isinstance(value, dict) else {}


def _object(about: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = about.get(key)
    return value if isinstance(value, Mapping) else {}
