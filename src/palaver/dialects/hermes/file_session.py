"""A row of Hermes' `sessions` in a file, and what a session of ours keeps of it.

What a session has a place for is there: facts, model, title, times. What that does not say exactly, and what later
versions know, is in its metadata under `hermes`, by the name of the column; how it is paid for is under `billing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from ...base import exact_json
from ...errors import BadValue
from ...grafts.values import GraftMove, GraftSession, GraftTurn
from .columns import is_exact
from .rows import SESSION_COLUMNS, Row
from .session_columns import AGENT, BILLED, BILLING, DIGEST, ORIGIN, OURS, PROMPT, milliseconds, plain_model

_HOME = {*BILLING, "id", "parent_session_id", "message_count", "tool_call_count", PROMPT, "estimated_cost_usd"}
_HOME |= {"actual_cost_usd", *(name for name in SESSION_COLUMNS if name.endswith("_tokens"))}
_LONGEST_FACT = 512


class FileSession(NamedTuple):
    """What a row says, as a session of ours takes it."""

    id: str
    parent: str | None
    facts: dict[str, str | None]
    model: str | None
    title: str | None
    created_at: int | None
    ended_at: int | None
    end_reason: str | None
    prompt: str | None
    ours: Row
    billing: Row

    def metadata(self, digest: str | None) -> dict[str, Any]:
        """`digest`: under which the store has the prompt; None: it has not, so the text stays here."""
        prompt = {} if self.prompt is None else {DIGEST: digest} if digest else {PROMPT: self.prompt}
        found = {OURS: self.ours | prompt, BILLED: self.billing}
        return {name: value for name, value in found.items() if value}

    @property
    def digest(self) -> str | None:
        return None if self.prompt is None else sha256(self.prompt.encode()).hexdigest()

    def graft(self, turns: Iterable[GraftTurn | GraftMove], into: str | None = None) -> GraftSession:
        return GraftSession(
            ORIGIN,
            self.id,
            turns,
            agent=AGENT,
            title=self.title,
            created_at=self.created_at,
            model=self.model,
            facts=self.facts,
            parent=self.parent,
            relation=None if self.parent is None else "continue",
            into=into,
            ended_at=self.ended_at,
            end_reason=self.end_reason,
        )


def session_of(row: Mapping[str, Any], parent: str | None, compacted: Mapping[str, Any]) -> FileSession:
    """`row` has what is not NULL; `compacted` which of its messages were summarised."""
    started, ended = milliseconds(row.get("started_at")), milliseconds(row.get("ended_at"))
    found = FileSession(
        id=row["id"],
        parent=parent,
        facts={"source": _fact(row.get("source")), "user": _fact(row.get("user_id"))},
        model=_model(row.get("model")),
        title=_title(row.get("title")),
        created_at=started,
        ended_at=ended,
        end_reason=_reason(row.get("end_reason")) if ended is not None else None,
        prompt=_prompt(row.get(PROMPT)),
        ours={},
        billing={key: row[name] for name, key in BILLING.items() if row.get(name) is not None},
    )
    return found._replace(ours=_left(row, found) | dict(compacted))


def _left(row: Mapping[str, Any], found: FileSession) -> Row:
    """The columns that a session of ours does not say, or says otherwise."""
    told = {"source": found.facts["source"], "user_id": found.facts["user"], "title": found.title}
    told |= {"model": found.model, "end_reason": found.end_reason}
    for name, stamp in (("started_at", found.created_at), ("ended_at", found.ended_at)):
        told[name] = row.get(name) if is_exact(row.get(name), stamp) else None
    left = {name: value for name, value in row.items() if name not in _HOME and value != told.get(name)}
    if row.get(PROMPT) is not None and found.prompt is None:
        left[PROMPT] = row[PROMPT]
    return left


def _fact(value: Any) -> str | None:
    return value if _is_text(value) and exact_json.size_of(value) <= _LONGEST_FACT else None


def _reason(value: Any) -> str | None:
    return value if value and _is_text(value) else None


def _prompt(value: Any) -> str | None:
    return value if value and _is_text(value) else None


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and exact_json.check_text("it", value) is not None
    except BadValue:
        return False


def _title(value: Any) -> str | None:
    try:
        return exact_json.check_title(value) if isinstance(value, str) else None
    except BadValue:
        return None


def _model(value: Any) -> str | None:
    try:
        return plain_model(value) if isinstance(exact_json.check_column("model", value), str) else None
    except BadValue:
        return None


def mark_of(found: FileSession, spent: Iterable[Any]) -> str:
    """What is remembered of a row: while it says the same, what was changed here since stays."""
    told = msgspec.json.encode([found._replace(parent=None), [tuple(one) for one in spent]], order="sorted")
    return sha256(told).hexdigest()[:16]
