"""Anthropic's messages as a conversation. A tool's result stands in a message of the user's: it goes to its call, and
what else that message says begins a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...base import exact_json
from .. import files, tool_parts
from ..assembling import Assembly
from ..conversation import Conversation, Part
from ..looking import array, check, choose, each, may, need, rest
from ..marks import MESSAGES, RESULT
from . import content

SERVER = ("server_tool_use", "mcp_tool_use")  # calls that are run over there; their results are in the answer itself
_RESULT = "tool_result"
_EMPTY = "an empty message"


def read(value: Any, system: Any = None) -> Conversation:
    """An array of messages (with `system` beside it), or an object with both."""
    if system is None and isinstance(value, dict):
        system = value.get("system")
    given, name = array(value, "messages")
    assembly = Assembly(MESSAGES)
    if system is not None:
        parts = _content(check(system, "system", str, list), "system")
        if parts:
            assembly.prompt(None, "system", parts)
    for index, (message, at) in enumerate(each(given, name)):
        _message(assembly, index, message, at)
    return assembly.done()


def _message(assembly: Assembly, index: int, message: dict[str, Any], at: str) -> None:
    role = need(message, "role", at, str)
    reader = choose(_SPEAKERS, role, f"{at}.role")
    given = need(message, "content", at, str, list)
    if not given and isinstance(given, list):
        return assembly.lose(index, "", _EMPTY)
    reader(assembly, index, given, f"{at}.content")
    assembly.lose_keys(index, rest(message, "role", "content"))


def _content(given: Any, at: str) -> list[Part]:
    if isinstance(given, str):
        return [{"type": "text", "text": given}]
    return _in_blocks(content.parts(given, at))


def _in_blocks(parts: list[Part]) -> list[Part]:
    """Where one text is all, the parts say that it was in a list."""
    if len(parts) == 1 and parts[0]["type"] == "text":
        MESSAGES.mark(parts[0], shape="blocks")
    return parts


def _prompt(assembly: Assembly, index: int, given: Any, at: str) -> None:
    parts = _content(given, at)
    MESSAGES.mark(parts[0], role="system")  # it stands among the messages
    assembly.prompt(index, "system", parts)


def _user(assembly: Assembly, index: int, given: Any, at: str) -> None:
    if isinstance(given, str):
        return assembly.user(index, "user", _content(given, at))
    said = []
    for block, place in each(given, at):
        if need(block, "type", place, str) == _RESULT:
            _result(assembly, index, block, place)
        else:
            said.append(content.part(block, place))
    if said:
        assembly.user(index, "user", _in_blocks(said) if len(given) == 1 else said)


def _assistant(assembly: Assembly, index: int, given: Any, at: str) -> None:
    assembly.step(index, "assistant")
    if isinstance(given, str):
        return assembly.add({"type": "text", "text": given})
    answer = _Answer(assembly, index, {})
    for place, (block, where) in enumerate(each(given, at)):
        part = answer.take(block, where, place)
        if part is not None:
            assembly.add(_in_blocks([part])[0] if len(given) == 1 else part)


class _Answer(NamedTuple):
    """One message of the model's; `places` is where its calls stand."""

    assembly: Assembly
    number: int
    places: dict[str, int]

    def take(self, block: dict[str, Any], at: str, place: int) -> Part | None:
        """The part that a block is; None if it is a call or its result, which have found their places."""
        kind = need(block, "type", at, str)
        if kind in ("tool_use", *SERVER):
            part = _call(block, at)
            self.places[part["toolCallId"]] = place
            self.assembly.call(part)
            return None
        if kind.endswith("_tool_result") and self._take_result(block, at, place):
            return None
        return _THOUGHTS[kind](block, at) if kind in _THOUGHTS else content.part(block, at)

    def _take_result(self, block: dict[str, Any], at: str, place: int) -> bool:
        """Whether a result found its call. One that did not stays where it is, a block as any other."""
        call_id = need(block, "tool_use_id", at, str)
        given = may(block, "content", at, str, list, dict)
        part = self.assembly.answer(self.number, "assistant", call_id)
        if part is None:
            return False
        _server_result(part, block, given)
        late = call_id in self.places and place != self.places[call_id] + 1  # it is expected right behind its call
        MESSAGES.mark(part, RESULT, item=block["type"], place=place if late else None)
        return True


def _thinking(block: dict[str, Any], at: str) -> Part:
    part = {"type": "reasoning", "text": need(block, "thinking", at, str)}
    signature = may(block, "signature", at, str)
    MESSAGES.tell(part, signature=signature)
    MESSAGES.mark(part, block=rest(block, "type", "thinking", *([] if signature is None else ["signature"])))
    return part


def _redacted(block: dict[str, Any], at: str) -> Part:
    part = {"type": "reasoning", "text": ""}
    MESSAGES.tell(part, redactedData=need(block, "data", at, str))
    MESSAGES.mark(part, block=rest(block, "type", "data"))
    return part


# ---------------------------------------------------------------- tools


def _call(block: dict[str, Any], at: str) -> Part:
    call_id, name = (need(block, key, at, str) for key in ("id", "name"))
    part = tool_parts.called(name, call_id, need(block, "input", at, dict))
    if block["type"] in SERVER:
        part["providerExecuted"] = True
        MESSAGES.mark(part, item=block["type"])
    content.keep(part, block, "id", "name", "input")
    return part


def _result(assembly: Assembly, index: int, block: dict[str, Any], at: str) -> None:
    call_id = need(block, "tool_use_id", at, str)
    given = may(block, "content", at, str, list)
    parts = content.parts(given, f"{at}.content") if isinstance(given, list) else []
    part = assembly.answer(index, "user", call_id, block)
    if part is None:
        return
    if may(block, "is_error", at, bool):
        tool_parts.fail(part, given if isinstance(given, str) else files.in_words(parts))
        MESSAGES.mark(part, RESULT, shape=tool_parts.shape_of(given))
        MESSAGES.mark(part, RESULT, content=parts if isinstance(given, list) else None)
    else:
        tool_parts.take_content(part, MESSAGES, given, parts)
    taken = ["is_error"] if block.get("is_error") else []
    content.keep(part, block, "tool_use_id", *(["content"] if given is not None else []), *taken, where=RESULT)


def _server_result(part: Part, block: dict[str, Any], given: Any) -> None:
    error = given.get("error_code") if isinstance(given, dict) else None
    if error is not None or block.get("is_error") is True:
        told = given if error is None else error
        tool_parts.fail(part, told if isinstance(told, str) else exact_json.encode(told))
        MESSAGES.mark(part, RESULT, content=given)
    else:
        tool_parts.succeed(part, given)
    content.keep(part, block, "tool_use_id", *(["content"] if given is not None else []), where=RESULT)


_THOUGHTS: dict[str, Callable[[dict[str, Any], str], Part]] = {"thinking": _thinking, "redacted_thinking": _redacted}
_SPEAKERS: dict[str, Callable[[Assembly, int, Any, str], None]] = {
    "system": _prompt,
    "user": _user,
    "assistant": _assistant,
}
