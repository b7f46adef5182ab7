"""UIMessages as items of the Responses API: each step's items in order, then what the caller answers.

Reasoning goes back only as what the API gave: with its id, or encrypted. Files in an answer have no place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...aisdk.parts import is_tool
from .. import tool_parts
from ..conversation import Part, UIMessage
from ..marks import RESPONSES, RESPONSES_BLOCK, RESPONSES_ITEM
from ..ui_messages import checked, steps
from . import call_writing, content

_SAID = ("text", RESPONSES_BLOCK)


def write(messages: Iterable[UIMessage]) -> list[dict[str, Any]]:
    return [item for message in checked(messages) for item in _WRITERS[message["role"]](message)]


def _said(message: UIMessage) -> list[dict[str, Any]]:
    role, parts = message["role"], message["parts"]
    if role == "system":
        parts = [part for part in parts if part["type"] != "file"]
        role = RESPONSES.first(parts, "role") or role
    said = content.write(parts)
    return [] if said is None else [{"role": role, "content": said, **_fields(parts)}]


def _answers(message: UIMessage) -> list[dict[str, Any]]:
    return [item for parts in steps(message) for item in _step(parts)]


def _step(parts: list[Part]) -> list[dict[str, Any]]:
    items = [item for group in _groups(parts) for item in _items(group)]
    calls = [part for part in parts if is_tool(part["type"])]
    outputs = [call_writing.write_output(part) for part in tool_parts.in_order(calls, RESPONSES)]
    return [*items, *(output for output in outputs if output is not None)]


def _groups(parts: list[Part]) -> list[list[Part]]:
    """Parts that are one item together."""
    found: list[list[Part]] = []
    for part in parts:
        if found and _continues(found[-1][-1], part):
            found[-1].append(part)
        else:
            found.append([part])
    return found


def _continues(before: Part, part: Part) -> bool:
    if part["type"] in _SAID and before["type"] in _SAID:
        return bool(RESPONSES.of(part).get("continues"))
    if part["type"] != "reasoning" or before["type"] != "reasoning":
        return False
    item_id = RESPONSES.facts(part).get("itemId")
    is_same = item_id is not None and item_id == RESPONSES.facts(before).get("itemId")
    return is_same or bool(RESPONSES.of(part).get("continues"))


def _items(group: list[Part]) -> list[dict[str, Any]]:
    kind = group[0]["type"]
    if is_tool(kind):
        call = call_writing.write_call(group[0])
        return [] if call is None else [call]
    if kind in _SAID:
        return [_spoken(group)]
    if kind == "reasoning":
        return _reasoning(group)
    return [group[0]["data"]] if kind == RESPONSES_ITEM else []


def _spoken(parts: list[Part]) -> dict[str, Any]:
    facts = RESPONSES.facts(parts[0])
    named = {key: facts[name] for key, name in (("id", "itemId"), ("phase", "phase")) if facts.get(name) is not None}
    said = content.blocks(parts, content.OUT) if "id" in named else content.write(parts, content.OUT)
    return {"role": "assistant", "content": said, **named, **_fields(parts)}


def _reasoning(parts: list[Part]) -> list[dict[str, Any]]:
    item_id, secret = (_fact(parts, name) for name in ("itemId", "reasoningEncryptedContent"))
    if item_id is None and secret is None:
        return []
    item: dict[str, Any] = {"type": "reasoning", "summary": _pieces(parts, "summary_text")}
    shown = _pieces(parts, "reasoning_text")
    named = {key: value for key, value in (("id", item_id), ("encrypted_content", secret)) if value is not None}
    return [{**item, **({"content": shown} if shown else {}), **named, **_fields(parts)}]


def _pieces(parts: list[Part], kind: str) -> list[dict[str, Any]]:
    raw = kind == "reasoning_text"
    chosen = [part for part in parts if part["text"] and bool(RESPONSES.of(part).get("raw")) is raw]
    return [{"type": kind, "text": part["text"], **RESPONSES.kept(part, "block")} for part in chosen]


def _fact(parts: list[Part], name: str) -> Any:
    return next((RESPONSES.facts(part)[name] for part in parts if RESPONSES.facts(part).get(name) is not None), None)


def _fields(parts: list[Part]) -> dict[str, Any]:
    """Fields of the item that these parts were."""
    found = RESPONSES.first(parts, "message")
    return found if isinstance(found, dict) else {}


_WRITERS: dict[str, Callable[[UIMessage], list[dict[str, Any]]]] = {
    "system": _said,
    "user": _said,
    "assistant": _answers,
}
