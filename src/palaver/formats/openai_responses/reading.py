"""Items of the Responses API as a conversation. There are no messages around a step here: what the model says after the
caller said something (a message, a tool's output) is another step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..assembling import Assembly
from ..conversation import Conversation, Part
from ..looking import array, choose, each, may, need, rest
from ..marks import RESPONSES, RESPONSES_ITEM
from . import call_reading, content
from .kinds import HOSTED, LOCAL, OUTPUTS

_EMPTY = "an empty message"


def read(value: Any) -> Conversation:
    """An array of items, a request (`input`, `instructions`), or a response (`output`)."""
    assembly = Assembly(RESPONSES)
    if isinstance(value, dict):
        _instructions(assembly, value)
        if isinstance(value.get("input"), str):
            value = [{"role": "user", "content": value["input"]}]
    given, name = array(value, "input", "output")
    for index, (item, at) in enumerate(each(given, name)):
        _item(assembly, index, item, at)
    return assembly.done()


def _instructions(assembly: Assembly, request: dict[str, Any]) -> None:
    told = may(request, "instructions", "request", str, list)
    if isinstance(told, str):
        assembly.prompt(None, "system", [{"type": "text", "text": told}])
    for item, at in each(told if isinstance(told, list) else [], "instructions"):
        assembly.prompt(None, "system", content.read(need(item, "content", at, str, list), f"{at}.content"))


def _item(assembly: Assembly, index: int, item: dict[str, Any], at: str) -> None:
    kind = _kind(item, at)
    if kind == "message":
        role = need(item, "role", at, str)
        choose(_SPEAKERS, role, f"{at}.role")(assembly, index, item, at)
    elif kind in OUTPUTS:
        call_reading.take_output(assembly, index, item, at)
    else:
        _model_item(assembly, index, item, at, kind)


def _kind(item: dict[str, Any], at: str) -> str:
    """A message, and a reference to an item, may be without a type."""
    if item.get("type") is None and "role" in item:
        return "message"
    if item.get("type") is None and "id" in item:
        return "item_reference"
    return str(need(item, "type", at, str))


def _model_item(assembly: Assembly, index: int, item: dict[str, Any], at: str, kind: str) -> None:
    called = call_reading.called(item, at) if kind in LOCAL or kind in HOSTED else None
    parts = _reasoning(item, at) if kind == "reasoning" else []
    _begin(assembly, index)
    if called is not None:
        assembly.call(called)
        return
    for part in parts or [{"type": RESPONSES_ITEM, "data": item}]:
        assembly.add(part)


def _begin(assembly: Assembly, index: int) -> None:
    if assembly.in_step:
        assembly.note(index, "assistant")
    else:
        assembly.step(index, "assistant")


# ---------------------------------------------------------------- messages


def _prompt(assembly: Assembly, index: int, item: dict[str, Any], at: str) -> None:
    parts = _said(assembly, index, item, at)
    if parts:
        RESPONSES.mark(parts[0], role=None if item["role"] == "system" else item["role"])
        assembly.prompt(index, item["role"], parts)


def _user(assembly: Assembly, index: int, item: dict[str, Any], at: str) -> None:
    parts = _said(assembly, index, item, at)
    if parts:
        assembly.user(index, "user", parts)


def _said(assembly: Assembly, index: int, item: dict[str, Any], at: str) -> list[Part]:
    parts = content.read(need(item, "content", at, str, list), f"{at}.content")
    if parts:
        RESPONSES.mark(parts[0], message=rest(item, "role", "content"))
    else:
        assembly.lose(index, "", _EMPTY)
    return parts


def _assistant(assembly: Assembly, index: int, item: dict[str, Any], at: str) -> None:
    parts = content.read(need(item, "content", at, str, list), f"{at}.content", content.OUT)
    if not parts:
        return assembly.lose(index, "", _EMPTY)
    _begin(assembly, index)
    for part in parts:
        assembly.add(part)
    _mark_item(parts, item, at, ("role", "content"), itemId="id", phase="phase")


def _mark_item(parts: list[Part], item: dict[str, Any], at: str, taken: tuple[str, ...], **facts: str) -> None:
    """Parts that are one item together: the first knows its fields; those that the AI SDK knows have its names."""
    known = {name: item[key] for name, key in facts.items() if may(item, key, at, str) is not None}
    RESPONSES.tell(parts[0], **known)
    RESPONSES.mark(parts[0], message=rest(item, *taken, *(facts[name] for name in known)))
    for part in parts[1:]:
        RESPONSES.tell(part, itemId=known.get("itemId"))
        RESPONSES.mark(part, continues=True)


# ---------------------------------------------------------------- reasoning


def _reasoning(item: dict[str, Any], at: str) -> list[Part]:
    """A part for each piece of the summary, and of the reasoning itself where it is shown; at least one."""
    summary = [
        _thought(piece, place, raw=False) for piece, place in each(need(item, "summary", at, list), f"{at}.summary")
    ]
    shown = [
        _thought(piece, place, raw=True) for piece, place in each(may(item, "content", at, list) or [], f"{at}.content")
    ]
    parts = [*summary, *shown] or [{"type": "reasoning", "text": ""}]
    taken = ("type", "summary", *(["content"] if shown else []))
    _mark_item(parts, item, at, taken, itemId="id", reasoningEncryptedContent="encrypted_content")
    return parts


def _thought(piece: dict[str, Any], at: str, *, raw: bool) -> Part:
    part = {"type": "reasoning", "text": need(piece, "text", at, str)}
    RESPONSES.mark(part, raw=raw, block=rest(piece, "text", "type"))
    return part


_SPEAKERS: dict[str, Callable[[Assembly, int, dict[str, Any], str], None]] = {
    "system": _prompt,
    "developer": _prompt,
    "user": _user,
    "assistant": _assistant,
}
