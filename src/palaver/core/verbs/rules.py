"""A session's own permission rules, as `permissions_json` holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadRule, SessionNotFound
from .. import damage, heads
from ..read.heads import Head
from ..runtime import Runtime
from ..settle import preflight
from ..turn import open_turn


def stored(tx: Tx, session_id: str) -> list[Any]:
    """The rules as they are, with what another program put among them. A column that is no list is refused: it is
    neither replaced nor evaluated."""
    row = tx.one(Q.get_permissions, session=session_id)
    if row is None:
        raise SessionNotFound(session_id)
    (text,) = row
    rules = damage.parsed(text)
    if not isinstance(rules, list):
        raise BadRule(
            "permissions_json of this session is not a list of rules, and may have held one that denies; mend it first"
            " (nothing is allowed, and nothing was changed)"
        )
    return rules


def add(tx: Tx, _: Runtime, session_id: str, rule: dict[str, Any]) -> dict[str, Any]:
    """A rule for this session; the one that is there, if it says the same."""
    known = _find(stored(tx, session_id), rule)
    if known is not None:
        return known
    head = heads.lock(tx, session_id, timestamps=0)
    rules = stored(tx, session_id)  # under the lock: others may have added theirs meanwhile
    known = _find(rules, rule)
    if known is not None:
        return known
    rule.setdefault("added_at", now_ms())
    _write(tx, head, [*rules, rule], "permit", rule)
    return rule


def remove(tx: Tx, _: Runtime, session_id: str, wanted: dict[str, str]) -> int:
    """Take away the rules that say all of this; how many."""
    rules = stored(tx, session_id)
    if len(_without(rules, wanted)) == len(rules):
        return 0
    head = heads.lock(tx, session_id, timestamps=0)
    rules = stored(tx, session_id)
    kept = _without(rules, wanted)
    if len(kept) < len(rules):
        _write(tx, head, kept, "revoke", wanted)
    return len(rules) - len(kept)


def _without(rules: list[Any], wanted: dict[str, str]) -> list[Any]:
    return [rule for rule in rules if not isinstance(rule, dict) or not wanted.items() <= rule.items()]


def _find(rules: list[Any], rule: dict[str, Any]) -> dict[str, Any] | None:
    known = next((each for each in rules if isinstance(each, dict) and _same(each, rule)), None)
    return None if known is None else dict(known)


def _write(tx: Tx, head: Head, rules: Sequence[Any], kind: str, data: dict[str, Any]) -> None:
    preflight.refuse_closed(head)
    tx.defer(Q.set_permissions, session=head.session_id, permissions=exact_json.encode([*rules]), now=now_ms())
    open_turn.record_event(tx, head, kind, None, data)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one.get(key) == other.get(key) for key in ("permission", "pattern", "action"))
