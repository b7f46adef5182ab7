"""Chat Completions messages as a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import BadValue
from .. import openai_arguments, tool_parts
from ..assembling import Assembly
from ..conversation import Conversation, Part
from ..looking import array, choose, each, may, need, rest
from ..marks import CHAT, RESULT
from . import content

CARRIER = "data-openai-chat-message"  # of an answer that is nothing but fields: an audio's id
KEPT = ("name", "audio", "annotations", "reasoning_details")  # fields that a message may be given back with
_REASONING = ("reasoning_content", "reasoning")  # of models that show it, behind APIs that speak as OpenAI's does
_KNOWN = ("role", "content", "tool_calls", "function_call", "refusal", *_REASONING, *KEPT)
_EMPTY = "an empty message"


def read(value: Any) -> Conversation:
    """An array of messages, or an object with `messages`."""
    given, name = array(value, "messages")
    assembly = Assembly(CHAT)
    for index, (message, at) in enumerate(each(given, name)):
        role = need(message, "role", at, str)
        choose(_READERS, role, f"{at}.role")(assembly, index, message, at)
    return assembly.done()


def _prompt(assembly: Assembly, index: int, message: dict[str, Any], at: str) -> None:
    parts = _said(assembly, index, message, at)
    if parts:
        CHAT.mark(parts[0], role=None if message["role"] == "system" else message["role"])
        assembly.prompt(index, message["role"], parts)


def _user(assembly: Assembly, index: int, message: dict[str, Any], at: str) -> None:
    parts = _said(assembly, index, message, at)
    if parts:
        assembly.user(index, "user", parts)


def _said(assembly: Assembly, index: int, message: dict[str, Any], at: str) -> list[Part]:
    parts = content.read(need(message, "content", at, str, list), f"{at}.content")
    if parts:
        CHAT.mark(parts[0], message=_kept(message))
        assembly.lose_keys(index, rest(message, "role", "content", *KEPT))
    else:
        assembly.lose(index, "", _EMPTY)
    return parts


def _assistant(assembly: Assembly, index: int, message: dict[str, Any], at: str) -> None:
    spoken = [*_reasoning(message, at), *content.read(message.get("content"), f"{at}.content"), *_refused(message, at)]
    calls = [*_tool_calls(assembly, index, message, at), *_function_call(index, message, at)]
    kept = _kept(message)
    if not spoken and not calls:
        if not kept:
            return assembly.lose(index, "", _EMPTY)
        spoken = [{"type": CARRIER, "data": {}}]
    first, *_ = [*spoken, *(part for part, _ in calls)]
    CHAT.mark(first, message=kept, absent="content" not in message)
    assembly.step(index, "assistant")
    for part in spoken:
        assembly.add(part)
    for part, key in calls:
        assembly.call(part, key)
    assembly.lose_keys(index, (key for key in rest(message, *_KNOWN) if message[key] is not None))


def _kept(message: dict[str, Any]) -> dict[str, Any]:
    return {key: message[key] for key in KEPT if message.get(key) is not None}


def _reasoning(message: dict[str, Any], at: str) -> list[Part]:
    parts = []
    for field in _REASONING:
        text = may(message, field, at, str)
        if text is not None:
            parts.append({"type": "reasoning", "text": text})
            CHAT.mark(parts[-1], field=field)
    return parts


def _refused(message: dict[str, Any], at: str) -> list[Part]:
    text = may(message, "refusal", at, str)
    if text is None:
        return []
    part = content.refusal(text)
    CHAT.mark(part, field="refusal")
    return [part]


# ---------------------------------------------------------------- tools


def _tool_calls(assembly: Assembly, index: int, message: dict[str, Any], at: str) -> list[tuple[Part, Any]]:
    found = []
    for call, place in each(may(message, "tool_calls", at, list) or [], f"{at}.tool_calls"):
        part, inner = _tool_call(call, place)
        kind = "custom" if call.get("type") == "custom" else "function"
        CHAT.mark(part, block=rest(call, "id", "type", kind))
        assembly.lose_keys(index, inner, prefix=f"{place.removeprefix(at)[1:]}.{kind}.")
        found.append((part, part["toolCallId"]))
    return found


def _tool_call(call: dict[str, Any], at: str) -> tuple[Part, dict[str, Any]]:
    """A call's part, and what of its inner object is nowhere in it."""
    call_id = need(call, "id", at, str)
    kind = call.get("type", "function")
    if kind == "custom":
        inner = need(call, "custom", at, dict)
        name, text = (need(inner, key, f"{at}.custom", str) for key in ("name", "input"))
        part = tool_parts.called(name, call_id, text)
        CHAT.tell(part, custom=True)
        return part, rest(inner, "name", "input")
    if kind != "function":
        raise BadValue(f"{at}.type is function or custom, not {kind!r}")
    inner = need(call, "function", at, dict)
    name, text = (need(inner, key, f"{at}.function", str) for key in ("name", "arguments"))
    return openai_arguments.called(name, call_id, text), rest(inner, "name", "arguments")


def _function_call(index: int, message: dict[str, Any], at: str) -> list[tuple[Part, Any]]:
    """The older way: one call, without an id. Its result names the function."""
    call = may(message, "function_call", at, dict)
    if call is None:
        return []
    name, text = (need(call, key, f"{at}.function_call", str) for key in ("name", "arguments"))
    part = openai_arguments.called(name, f"function_call_{index}", text)
    CHAT.mark(part, field="function_call", block=rest(call, "name", "arguments"))
    return [(part, ("function", name))]


def _tool(assembly: Assembly, index: int, message: dict[str, Any], at: str) -> None:
    _result(assembly, index, message, at, need(message, "tool_call_id", at, str))


def _function(assembly: Assembly, index: int, message: dict[str, Any], at: str) -> None:
    _result(assembly, index, message, at, ("function", need(message, "name", at, str)))


def _result(assembly: Assembly, index: int, message: dict[str, Any], at: str, key: Any) -> None:
    given = may(message, "content", at, str, list)
    parts = content.parts(given, f"{at}.content") if isinstance(given, list) else []
    part = assembly.answer(index, message["role"], key, message)
    if part is None:
        return
    tool_parts.take_content(part, CHAT, given, parts)
    known = ("role", "tool_call_id", "content", "name")
    if message["role"] == "tool" and isinstance(message.get("name"), str):
        CHAT.mark(part, RESULT, message={"name": message["name"]})
    assembly.lose_keys(index, rest(message, *known))


_READERS: dict[str, Callable[[Assembly, int, dict[str, Any], str], None]] = {
    "system": _prompt,
    "developer": _prompt,
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
    "function": _function,
}
