"""The rows of a session as Hermes gives them: as rows of `messages`, and as a conversation for an API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ...aisdk.parts import is_tool
from ...base import exact_json
from ...errors import BadValue
from ...numbered import FIRST, FoundMessage, FoundRow, NumberedRow, NumberedRows, Spot
from ...session import StoredMessage
from ...store import Store
from . import rows
from .rows import MESSAGE_COLUMNS, Part, Row
from .session_columns import AGENT

_LONGEST_CONTEXT = 200  # characters


class Said(NamedTuple):
    """What a numbered row says, with its number and time."""

    number: int
    at: float
    row: Row

    @property
    def is_active(self) -> bool:
        """A later Hermes takes rows back by a column, and so they come from its files."""
        return self.row.get("active") != 0


def of_store(store: Store) -> NumberedRows:
    """The rows of a store, as Hermes sees them."""
    return NumberedRows(store, AGENT, spots)


def spots(message: StoredMessage) -> list[Spot]:
    """Where in a message there are rows beside the first."""
    if message.role != "assistant" or not any(map(_is_call, message.parts)):  # mostly a look is enough
        return []
    return [spot for spot, _ in rows_in(message) if spot is not FIRST]


def _is_call(text: str) -> bool:
    return '"toolCallId"' in text


def _steps(parts: list[Part]) -> list[range]:
    """The parts of each call of the model: a step that begins after tools were called is another one."""
    begins, has_called = [0], False
    for place, part in enumerate(parts):
        if part["type"] == "step-start" and has_called:
            begins.append(place)
            has_called = False
        has_called = has_called or is_tool(part["type"])
    return [range(*each) for each in pairwise([*begins, len(parts)])]


def rows_in(message: StoredMessage) -> list[tuple[Spot, Row]]:
    """The rows of a message: its steps, each with the results of its calls behind it."""
    return rows_of(message.role, _metadata(message), [_opened(text) for text in message.parts])


def rows_of(role: str, metadata: Mapping[str, Any], parts: list[Part]) -> list[tuple[Spot, Row]]:
    """The same of what a message holds. What is known of the message as a whole is said with its last step."""
    steps = _steps(parts) if role == "assistant" else [range(len(parts))]
    found: list[tuple[Spot, Row]] = []
    for step in steps:
        row = rows.row_of(role, metadata if step == steps[-1] else {}, [parts[place] for place in step])
        found.append((Spot(step.start, False) if step.start else FIRST, row))
        found += [(Spot(at, True), rows.result_row(parts[at])) for at in step if rows.has_result(parts[at])]
    return found


def said(found: Iterable[NumberedRow]) -> Iterator[Said]:
    known: dict[Spot, Row] = {}
    for one in found:
        if one.spot is FIRST:  # the others of its message come right after it
            known = dict(rows_in(one.message))
        row = known[one.spot]
        yield Said(one.number or 0, _time(one, row), row)


def _time(one: NumberedRow, row: Row) -> float:
    return when(row.pop("timestamp", None), one.stamp, one.message)


def when(given: Any, stamp: float | None, message: StoredMessage | FoundMessage) -> float:
    """When a row was written: as its file says, as it was noted beside its number, or as its message says."""
    if isinstance(given, float | int) and not isinstance(given, bool):
        return float(given)
    return message.created_at / 1000 if stamp is None else stamp


def _opened(text: str) -> Part:
    try:
        return rows.opened(text)
    except BadValue:  # a damaged row: verify names it
        return {"type": "data-damaged"}


def _metadata(message: StoredMessage) -> dict[str, Any]:
    if message.metadata == "{}":
        return {}
    try:
        value = exact_json.parse(message.metadata)
    except BadValue:
        return {}
    return value if isinstance(value, dict) else {}


class Counted(NamedTuple):
    """How many rows there are, how many calls in them, and when the last was written."""

    messages: int
    calls: int
    last: float | None


def count(found: Iterable[NumberedRow]) -> Counted:
    active = [one for one in said(found) if one.is_active]
    calls = sum(len(_calls(one.row)) for one in active)
    return Counted(len(active), calls, max((one.at for one in active), default=None))


def _calls(row: Row) -> list[Any]:
    value = _decoded(row.get("tool_calls"), None)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def message_row(session_id: str, one: Said) -> Row:
    row: Row = dict.fromkeys(MESSAGE_COLUMNS)
    row |= {name: value for name, value in one.row.items() if name in row}
    row |= {"id": one.number, "session_id": session_id, "timestamp": one.at}
    row["content"] = rows.decoded(row["content"])
    if row["tool_calls"]:
        row["tool_calls"] = _decoded(row["tool_calls"], [])
    return row


def conversation_row(one: Said) -> Row:
    """As an API takes it: what is not there is left out, and what an answer thought goes with it."""
    row = one.row
    message: Row = {"role": row["role"], "content": rows.decoded(row.get("content"))}
    message |= {name: row[name] for name in ("tool_call_id", "tool_name") if row.get(name)}
    if row.get("tool_calls"):
        message["tool_calls"] = _decoded(row["tool_calls"], [])
    if row["role"] == "assistant":
        message |= {name: row[name] for name in ("finish_reason", "reasoning") if row.get(name)}
        if row.get("reasoning_content") is not None:  # of a file of a later version; some APIs want it back
            message["reasoning_content"] = row["reasoning_content"]
        for name in ("reasoning_details", "codex_reasoning_items"):
            if row.get(name):
                message[name] = _decoded(row[name], None)
    return message


def found_row(one: FoundRow) -> tuple[Row, list[Row]]:
    """A row that was found, and it with those beside it in the session."""
    own = _in_order(one.message)
    spot = FIRST if one.place is None else Spot(one.place, True)
    at = next((place for place, (each, _) in enumerate(own) if each == spot), 0)
    before = [row for _, row in own[:at]] or (_of(one.before)[-1:] if one.before else [])
    behind = [row for _, row in own[at + 1 :]] or (_of(one.after)[:1] if one.after else [])
    _, row = own[at]
    return row, [context_row(each) for each in [*before[-1:], row, *behind[:1]]]


def _of(message: FoundMessage) -> list[Row]:
    return [row for _, row in _in_order(message)]


def _in_order(message: FoundMessage) -> list[tuple[Spot, Row]]:
    """The rows of a message, results in the order in which they came."""

    def came(each: tuple[Spot, Row]) -> tuple[bool, int]:
        spot, _ = each
        return message.number_at(spot.place)

    def is_result(each: tuple[Spot, Row]) -> bool:
        spot, _ = each
        return spot.is_result

    runs = groupby(rows_of(message.role, message.metadata, message.parts), key=is_result)
    return [each for are_results, run in runs for each in (sorted(run, key=came) if are_results else run)]


def context_row(row: Row) -> Row:
    """A row beside one that was found: the beginning of what it says."""
    content = rows.decoded(row.get("content"))
    if isinstance(content, list):
        texts = [piece.get("text") for piece in content if isinstance(piece, dict) and piece.get("type") == "text"]
        content = " ".join(text for text in texts if isinstance(text, str) and text).strip() or "[multimodal content]"
    return {"role": row["role"], "content": content[:_LONGEST_CONTEXT] if isinstance(content, str) else ""}


def _decoded(text: Any, otherwise: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return otherwise
