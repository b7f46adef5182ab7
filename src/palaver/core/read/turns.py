"""Turns as a caller sees them: on the path, beside it, open, and the whole tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from ...db.engine import Tx
from ...errors import BadValue, NotOnPath, SessionNotFound, StoreCorrupt, TurnNotFound
from ...model import TurnError, TurnInfo, Usage, Window
from .. import damage, rows
from ..facts import NAMES, OWN
from ..rows import HeadAtRow, TurnRow
from . import jumps, sessions
from .jumps import FAR
from .windows import Asked, Cursors, Frame, Mark, cut


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
    more = {name: value for name, value in facts.items() if name not in OWN}
    if more:
        shown["facts"] = more
    if "error" in facts:
        shown["error"] = _error(facts["error"])
    return shown


_LISTS = {
    "tools": "tools_available",
    "permissions_granted": "permissions_granted",
    "permissions_used": "permissions_used",
    "unknown_chunks": "unknown_chunks",
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
    return [info(damage.sound(row)) for row in found if row is not None]


def with_status(tx: Tx, session_id: str, status: str) -> list[TurnInfo]:
    """The open turns that wait, or that somebody is writing."""
    return infos(tx, [turn.id for turn in rows.open_turns.all(tx, session=session_id) if turn.status == status])


# ---------------------------------------------------------------- windows: on the path, beside it, all of them


def on_path(tx: Tx, session_id: str, asked: Asked) -> Window[TurnInfo]:
    """From the root to the head; the place of a turn is its depth."""
    head = rows.head.one(tx, session=session_id)
    top, cursors = head.turn_id if head else None, Cursors("path", session_id)

    def find(given: str, is_after: bool) -> Mark:
        turn = _named(tx, cursors, given)
        if not jumps.is_ancestor(tx, turn.id, top):
            raise NotOnPath(turn.id, session_id)
        return Mark(turn.depth, cursors.of(turn.id))

    frame = Frame.of(asked, cursors, find, 0, FAR)
    return _window(frame, cursors, _between(tx, top, frame) if top else [])


def _between(tx: Tx, top: str, frame: Frame) -> list[TurnRow]:
    """The last one that is wanted is looked for from the head, by jumps, and walked back from."""
    low, high, count = frame.low.place, frame.high.place, frame.asked.take
    if frame.high.is_end and not frame.asked.goes_on:
        return _back(tx, top, count)
    far = jumps.back(tx, top, above=min(low + count, high - 1) - 1 if frame.asked.goes_on else high - 2)
    if far is None:
        return []
    if not frame.asked.goes_on:
        return [row for row in _back(tx, far.id, count) if row.depth < high]
    found = _back(tx, far.id, max(far.depth - low, 0))
    if found and found[0].depth != low + 1:
        raise StoreCorrupt(f"the way back from turn {far.id} ends at turn {found[0].id}; verify() says why")
    return [row for row in found if row.depth < high]


def _back(tx: Tx, turn_id: str, count: int) -> list[TurnRow]:
    """So many turns of the way to a turn, itself the last."""
    return sorted(map(damage.sound, rows.turns_back.all(tx, turn=turn_id, limit=count)), key=attrgetter("depth"))


def strays(tx: Tx, session_id: str, asked: Asked) -> Window[TurnInfo]:
    """Turns that were left beside the path, in the order that they were."""
    cursors = Cursors("strays", session_id)

    def find(given: str, is_after: bool) -> Mark:
        turn = _named(tx, cursors, given)
        left = rows.stray_seq_of.one(tx, turn=turn.id, session=session_id)
        if left is None or left.stray_seq is None:
            raise BadValue(f"turn {turn.id} is no stray of this session; strays() has those that are")
        return Mark(left.stray_seq, cursors.of(turn.id))

    frame = Frame.of(asked, cursors, find, -1, FAR)
    query = rows.strays_after if asked.goes_on else rows.strays_before
    found = query.all(tx, session=session_id, after=frame.low.place, before=frame.high.place, limit=asked.take)
    return _window(frame, cursors, found if asked.goes_on else found[::-1])


def tree(tx: Tx, session_id: str, asked: Asked) -> Window[TurnInfo]:
    """Every turn this session ever pointed at, began or left behind, and their ancestors; parents first."""
    sessions.require(tx, session_id)
    found = map(damage.sound, rows.known_turns.all(tx, session=session_id))
    known = sorted(found, key=attrgetter("depth", "started_at", "id"))
    place, cursors = {turn.id: number for number, turn in enumerate(known)}, Cursors("tree", session_id)

    def find(given: str, is_after: bool) -> Mark:
        turn = _named(tx, cursors, given)
        if turn.id not in place:
            raise BadValue(f"turn {turn.id} is not in the tree of this session; tree() has those that are")
        return Mark(place[turn.id], cursors.of(turn.id))

    frame = Frame.of(asked, cursors, find, -1, len(known))
    return _window(frame, cursors, cut(known, frame))


def _named(tx: Tx, cursors: Cursors, given: str) -> TurnRow:
    """The turn that an id or a cursor means."""
    item = cursors.item(given)
    [name] = [given] if item is None else cursors.typed(given, item, str)
    turn = rows.turn.one(tx, turn=name)
    if turn is None:
        raise TurnNotFound(name)
    return damage.sound(turn)


def _window(frame: Frame, cursors: Cursors, found: Sequence[TurnRow]) -> Window[TurnInfo]:
    shown = [info(damage.sound(row)) for row in frame.kept(found)]
    return frame.window(shown, lambda turn: cursors.of(turn.id), over=frame.is_over(found))


def is_known(tx: Tx, session_id: str, turn_id: str) -> bool:
    """Whether a turn is in the tree of a session."""
    return rows.is_known.one(tx, session=session_id, turn=turn_id) is not None


def is_sealed(tx: Tx, turn_id: str) -> bool:
    """Whether it is a turn that something can come after."""
    turn = rows.turn.one(tx, turn=turn_id)
    return turn is not None and turn.sealed_at is not None


def head_at(tx: Tx, session_id: str, at: int) -> HeadAtRow:
    """Where the head stood at a time."""
    sessions.require(tx, session_id)
    found = rows.head_at.one(tx, session=session_id, at=at)
    if found is None:
        raise SessionNotFound(session_id, sentence=f"session {session_id} did not exist yet at {at}; it was made later")
    return found
