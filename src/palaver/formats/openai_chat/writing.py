"""UIMessages as Chat Completions messages: every step an answer, its tools' results right behind it.

Reasoning has no place in them, but where it came from one of their fields. Files in an answer have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...aisdk.parts import is_tool
from .. import files, openai_arguments, tool_parts
from ..conversation import Part, UIMessage
from ..marks import CHAT, CHAT_BLOCK, RESULT
from ..ui_messages import checked, steps
from . import content

_FIELDS = ("reasoning_content", "reasoning", "refusal")


def write(messages: Iterable[UIMessage]) -> list[dict[str, Any]]:
    return [native for message in checked(messages) for native in _WRITERS[message["role"]](message)]


def _said(message: UIMessage) -> list[dict[str, Any]]:
    role, parts = message["role"], message["parts"]
    if role == "system":
        parts = [part for part in parts if part["type"] != "file"]
        role = CHAT.first(parts, "role") or role
    said = content.write(parts)
    return [] if said is None else [{"role": role, "content": said, **_fields(parts)}]


def _answers(message: UIMessage) -> list[dict[str, Any]]:
    return [native for parts in steps(message) for native in _step(parts)]


def _step(parts: list[Part]) -> list[dict[str, Any]]:
    calls = [part for part in parts if is_tool(part["type"])]
    old = next((part for part in calls if CHAT.of(part).get("field") == "function_call"), None)
    spoken = [part for part in parts if part["type"] in ("text", CHAT_BLOCK) and not CHAT.of(part).get("field")]
    said = content.write(spoken)
    answer: dict[str, Any] = {"role": "assistant", **_fields(parts), **_fields_of(parts), **_calls(calls, old)}
    if said is None and answer.keys() == {"role"}:
        return []
    if said is not None or not CHAT.first(parts, "absent"):
        answer["content"] = said
    results = tool_parts.in_order(calls, CHAT)
    return [answer, *(_function_result(part) if part is old else _result(part) for part in results)]


def _fields(parts: list[Part]) -> dict[str, Any]:
    """Fields of the message that these parts were."""
    found = CHAT.first(parts, "message")
    return found if isinstance(found, dict) else {}


def _fields_of(parts: list[Part]) -> dict[str, Any]:
    """Fields that are parts."""
    found: dict[str, Any] = {}
    for part in parts:
        field = CHAT.of(part).get("field")
        if field in _FIELDS and "text" in part:
            found[field] = part["text"]
    return found


def _calls(calls: list[Part], old: Part | None) -> dict[str, Any]:
    """The calls; one of them may be in the older way, without an id."""
    new = [_call(part) for part in calls if part is not old]
    found: dict[str, Any] = {"tool_calls": new} if new else {}
    return found if old is None else {**found, "function_call": _function(old)}


def _call(part: Part) -> dict[str, Any]:
    call: dict[str, Any] = {"id": part["toolCallId"], **CHAT.kept(part, "block")}
    given = tool_parts.given(part)
    if CHAT.facts(part).get("custom") and isinstance(given, str):
        return {**call, "type": "custom", "custom": {"name": tool_parts.name(part), "input": given}}
    function = {"name": tool_parts.name(part), "arguments": openai_arguments.text(part)}
    return {**call, "type": "function", "function": function}


def _function(part: Part) -> dict[str, Any]:
    kept = CHAT.kept(part, "block")
    return {"name": tool_parts.name(part), "arguments": openai_arguments.text(part), **kept}


def _result(part: Part) -> dict[str, Any]:
    answer = tool_parts.answer(part)
    told: Any = answer.text
    if answer.parts is not None:
        told = content.blocks(answer.parts) if CHAT.of(part, RESULT) else content.blocks(_texts(answer.parts)) or told
    kept = CHAT.kept(part, "message", RESULT)
    return {"role": "tool", "tool_call_id": part["toolCallId"], "content": told, **kept}


def _function_result(part: Part) -> dict[str, Any]:
    answer = tool_parts.answer(part)
    nothing = not answer.failed and CHAT.of(part, RESULT).get("shape") == "none"
    return {"role": "function", "name": tool_parts.name(part), "content": None if nothing else answer.text}


def _texts(parts: list[Part]) -> list[Part]:
    """A result may only be text; a file in it is named."""
    return [{"type": "text", "text": files.stand_in(part)} if part["type"] == "file" else part for part in parts]


_WRITERS: dict[str, Callable[[UIMessage], list[dict[str, Any]]]] = {
    "system": _said,
    "user": _said,
    "assistant": _answers,
}
