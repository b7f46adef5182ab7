"""A session of ours as a row of Hermes' `sessions`, whoever made it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...model import SessionInfo
from ...session import Session
from ...store import Store
from . import totals
from .columns import milliseconds
from .file_session import BILLED, BILLING, COMPACTED, DIGEST, IMPORTED, OURS, PROMPT, joined, plain_model
from .growth import GROWN
from .rows import SESSION_COLUMNS, Row

_INTERNAL = {DIGEST, PROMPT, COMPACTED, f"{COMPACTED}_active", IMPORTED, GROWN, *SESSION_COLUMNS}
_LONGEST_TITLE = 100
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]")


def name_of(info: SessionInfo) -> str:
    """What Hermes calls it."""
    return info.app_id or info.id


def session_row(store: Store, info: SessionInfo, parent: str | None) -> Row:
    """Its columns, those of later versions last; its counts and its title are the file's to know."""
    session = Session(store, info.id)
    ours, billing = _object(info.metadata, OURS), _object(info.metadata, BILLED)
    facts = session.facts
    row: Row = dict.fromkeys(SESSION_COLUMNS)
    row |= {"id": name_of(info), "source": facts.get("source") or _text(ours, "source") or "unknown"}
    row |= {"user_id": facts.get("user") or _text(ours, "user_id"), "parent_session_id": parent}
    if "" in (facts.get("source"), facts.get("user")):
        row |= {column: "" for column, fact in (("source", "source"), ("user_id", "user")) if facts.get(fact) == ""}
    row |= {"model": _model(info, ours), "model_config": _text(ours, "model_config")}
    row |= {PROMPT: _prompt(store, session, info, ours)}
    row["started_at"] = _seconds(info.created_at, ours.get("started_at"))
    row["ended_at"] = ours.get("ended_at") if info.ended_at is None else _seconds(info.ended_at, ours.get("ended_at"))
    row["end_reason"] = info.end_reason if info.end_reason is not None else _text(ours, "end_reason")
    row |= {column: billing.get(key) for column, key in BILLING.items()}
    row |= _used(session, info)
    later = {name: value for name, value in ours.items() if name not in _INTERNAL}
    return row | later | ({"archived": 1} if info.archived_at is not None else {})


def title_of(info: SessionInfo) -> str | None:
    """As Hermes would have it; None: it has none that Hermes would take."""
    given = info.title if info.title is not None else _text(_object(info.metadata, OURS), "title")
    cleaned = " ".join(_UNSEEN.sub("", given or "").split())
    return cleaned if cleaned and len(cleaned) <= _LONGEST_TITLE else None


def _used(session: Session, info: SessionInfo) -> Row:
    usage, computed, reported = totals.totals(session, info.usage)
    row: Row = dict(zip(totals.COUNTS, usage.counts(), strict=True))
    return row | {"estimated_cost_usd": computed, "actual_cost_usd": reported}


def _model(info: SessionInfo, ours: Mapping[str, Any]) -> str | None:
    name = joined(info.model.get("provider_id"), info.model.get("model_id"))
    given = _text(ours, "model")
    return given if given is not None and plain_model(given) == name else name


def _prompt(store: Store, session: Session, info: SessionInfo, ours: Mapping[str, Any]) -> str | None:
    """The session's own, else that of its newest turn which has one."""
    digest = ours.get(DIGEST)
    if digest is None and PROMPT not in ours and info.turn_id is not None:
        digest = next((turn.system_prompt for turn in reversed(session.path()) if turn.system_prompt), None)
    return store.system_prompt(digest) if isinstance(digest, str) else _text(ours, PROMPT)


def _seconds(stamp: int, exact: Any) -> float:
    """A time in seconds; as it was given, where that is known and still holds."""
    return float(exact) if exact is not None and milliseconds(exact) == stamp else stamp / 1000


def _text(about: Mapping[str, Any], key: str) -> str | None:
    value = about.get(key)
    return value if isinstance(value, str) else None


def _object(about: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = about.get(key)
    return value if isinstance(value, Mapping) else {}
