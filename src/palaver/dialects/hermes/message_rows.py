"""The rows of a session as Hermes gives them: as rows of `messages`, and as a conversation for an API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from ...aisdk.parts import is_tool
from ...base import exact_json
from ...errors import BadValue
from ...numbered import FIRST, NumberedRow, Spot
from ...session import StoredMessage
from . import rows
from .rows import MESSAGE_COLUMNS, Part, Row

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


def spots(message: StoredMessage) -> list[Spot]:
    """Where in a message there are rows beside the first: the results of its calls, and the steps that came after."""
    if message.role != "assistant" or not any(map(_is_call, message.parts)):  # mostly a look is enough
        return []
    parts = [_opened(text) for text in message.parts]
    found = []
    for step in _steps(parts):
        found += [Spot(step.start, False)] if step.start else []
        found += [Spot(place, True) for place in step if rows.has_result(parts[place])]
    return found


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


def said(found: Iterable[NumberedRow]) -> Iterator[Said]:
    parts: list[Part] = []
    for one in found:
        if one.spot is FIRST:  # the others of its message come right after it
            parts = [_opened(text) for text in one.message.parts]
        row = rows.result_row(parts[one.spot.place]) if one.spot.is_result else _row_of_step(one, parts)
        yield Said(one.number or 0, _time(one, row), row)


def _row_of_step(one: NumberedRow, parts: list[Part]) -> Row:
    """What is known of the message as a whole is said with its last step."""
    steps = _steps(parts)
    step = next((each for each in steps if each.start == one.spot.place), range(len(parts)))
    about = _metadata(one.message) if step == steps[-1] else {}
    return rows.row_of(one.message.role, about, [parts[place] for place in step])


def _time(one: NumberedRow, row: Row) -> float:
    given = row.pop("timestamp", None)
    if isinstance(given, float | int):
        return float(given)
    return one.message.created_at / 1000 if one.stamp is None else one.stamp


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


def counts(found: Iterable[NumberedRow]) -> Row:
    """How many rows there are, and how many calls in them."""
    active = [one for one in said(found) if one.is_active]
    calls = sum(len(_calls(one.row)) for one in active)
    return {"message_count": len(active), "tool_call_count": calls}


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
        for name in ("reasoning_details", "codex_reasoning_items"):
            if row.get(name):
                message[name] = _decoded(row[name], None)
    return message


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
