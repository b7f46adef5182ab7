"""Turns as a caller sees them: on the path, beside it, open, and the whole tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...db.engine import Tx
from ...db.queries import Q
from ...errors import SessionNotFound
from ...model import TurnError, TurnInfo, Usage
from .. import damage, rows
from ..facts import NAMES
from ..rows import HeadAtRow, TurnRow
from . import entries, sessions


def info(row: TurnRow) -> TurnInfo:
    return TurnInfo(
        id=row.id,
        parent_id=row.parent_id,
        session_id=row.session_id,
        kind=row.kind,
        status=row.status,
        base_revision=row.base_revision,
        depth=row.depth,
        started_at=row.started_at,
        sealed_at=row.sealed_at,
        digest=row.digest,
        response_id=row.response_id,
        usage=usage(row),
        cost_usd=row.cost_usd,
        thread_tokens=row.thread_tokens,
        thread_messages=row.thread_messages,
        **_told(row.facts_json),
    )


def _told(text: str) -> dict[str, Any]:
    if text == "{}":
        return {}
    facts = damage.parsed(text)
    return told(facts) if isinstance(facts, dict) else {}


def told(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a turn that `TurnInfo` shows; what another program left in their place is left out."""
    if not facts:
        return {}
    start = facts.get("metadata")
    start = start if isinstance(start, dict) else {}
    given = {
        "finish": facts.get("finish"),
        "abort_reason": facts.get("abort_reason"),
        "agent": start.get("agent"),
        "system_prompt": start.get("system_prompt_digest"),
        "toolset": facts.get("toolset_name"),
        "tool_definitions": facts.get("tools_digest"),
        "settings": facts.get("settings_digest"),
        **{name: facts.get(name) for name in NAMES},
    }
    shown: dict[str, Any] = {name: value for name, value in given.items() if isinstance(value, str)}
    shown |= {name: facts[name] for name in ("model", "trigger") if isinstance(facts.get(name), dict)}
    for name, key in _LISTS.items():
        if isinstance(facts.get(key), list):
            shown[name] = facts[key]
    if "error" in facts:
        shown["error"] = _error(facts["error"])
    return shown


_LISTS = {
    "tools": "tools_available",
    "permissions_granted": "permissions_granted",
    "permissions_used": "permissions_used",
}


def _error(said: Any) -> TurnError:
    if not isinstance(said, dict):  # a text, in turns of before
        return TurnError(str(said))
    code = said.get("code")
    return TurnError(str(said.get("message", "")), None if code is None else str(code))


def usage(row: TurnRow) -> Usage:
    return Usage(row.input_tokens, row.output_tokens, row.reasoning_tokens, row.cache_read, row.cache_write)


def infos(tx: Tx, turn_ids: Iterable[str]) -> list[TurnInfo]:
    found = (rows.turn.one(tx, turn=turn_id) for turn_id in turn_ids)
    return [info(row) for row in found if row is not None]


def on_path(tx: Tx, session_id: str) -> list[TurnInfo]:
    """From the root to the head."""
    head = rows.head.one(tx, session=session_id)
    return infos(tx, reversed(entries.path(tx, head.turn_id if head else None)))


def with_status(tx: Tx, session_id: str, status: str) -> list[TurnInfo]:
    """The open turns that wait, or that somebody is writing."""
    return infos(tx, [turn.id for turn in rows.open_turns.all(tx, session=session_id) if turn.status == status])


def strays(tx: Tx, session_id: str) -> list[TurnInfo]:
    return infos(tx, stray_ids(tx, session_id))


def stray_ids(tx: Tx, session_id: str) -> list[str]:
    """The turns that were left beside the path, in the order that they were."""
    told = [damage.parsed(data) for (data,) in tx.all(Q.strays, session=session_id)]
    return [each["turn"] for each in told if isinstance(each, dict) and isinstance(each.get("turn"), str)]


def tree(tx: Tx, session_id: str) -> list[TurnInfo]:
    """Every turn this session ever pointed at, began or left behind, and their ancestors; parents first."""
    sessions.require(tx, session_id)
    wanted = {line.turn_id for line in rows.history.all(tx, session=session_id) if line.turn_id}
    wanted |= {turn.id for turn in rows.open_turns.all(tx, session=session_id)}
    wanted |= set(stray_ids(tx, session_id))
    found: dict[str, TurnInfo] = {}
    queue = sorted(wanted)
    while queue:
        turn_id = queue.pop()
        row = rows.turn.one(tx, turn=turn_id) if turn_id not in found else None
        if row is not None:
            found[turn_id] = info(row)
            if row.parent_id:
                queue.append(row.parent_id)
    return sorted(found.values(), key=lambda t: (t.depth, t.started_at, t.id))


def head_at(tx: Tx, session_id: str, at: int) -> HeadAtRow:
    """Where the head stood at a time."""
    sessions.require(tx, session_id)
    found = rows.head_at.one(tx, session=session_id, at=at)
    if found is None:
        raise SessionNotFound(session_id, f"it did not exist at {at}")
    return found
