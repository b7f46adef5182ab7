"""UIMessages as Anthropic's messages: roles alternate, and every call is answered at the head of the next message.

Thinking goes back only as the API gave it: signed, or redacted. Files in an answer have no place.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, NamedTuple

from ...aisdk.parts import is_tool
from .. import tool_parts
from ..conversation import Part, UIMessage
from ..marks import MESSAGES
from ..ui_messages import checked, steps
from . import content, tools

System = str | list[dict[str, Any]] | None


def write(messages: Iterable[UIMessage]) -> tuple[System, list[dict[str, Any]]]:
    """The system prompt, and the messages. System messages from elsewhere are all in the prompt, wherever they were."""
    given = checked(messages)
    prompts = [part for message in given if _is_prompt(message) for part in message["parts"] if part["type"] != "file"]
    talk = _Talk()
    last = next((message for message in reversed(given) if message["parts"]), None)
    for message in given:
        if message["role"] == "assistant":
            _answer(talk, message, is_last=message is last)
        elif not _is_prompt(message):
            talk.add(message["role"], content.blocks(message["parts"]), _in_list(message["parts"]))
    return _collapsed(content.blocks(prompts), _in_list(prompts)), talk.messages()


def _is_prompt(message: UIMessage) -> bool:
    return message["role"] == "system" and MESSAGES.first(message["parts"], "role") is None


def _in_list(parts: list[Part]) -> bool:
    return bool(MESSAGES.first(parts, "shape") == "blocks")


def _collapsed(blocks: list[dict[str, Any]], in_list: bool) -> System:
    """Text where one plain text is all there is."""
    plain = len(blocks) == 1 and blocks[0].keys() == {"type", "text"} and not in_list
    return blocks[0]["text"] if plain else blocks or None


class _Said(NamedTuple):
    """What one role says without a break; whether its content was a list."""

    role: str
    blocks: list[dict[str, Any]]
    in_list: bool


class _Late(NamedTuple):
    """A result that did not stand right behind its call."""

    place: int
    result: dict[str, Any]


class _Talk:
    """Messages as they are put together; what one role says without a break is one message."""

    def __init__(self) -> None:
        self.ids = tools.Ids()
        self._said: list[_Said] = []

    def add(self, role: str, blocks: list[dict[str, Any]], in_list: bool = False) -> None:
        if not blocks:
            return
        if self._said and self._said[-1].role == role != "system":
            _, before, was_in_list = self._said.pop()
            blocks, in_list = [*before, *blocks], in_list or was_in_list
        self._said.append(_Said(role, blocks, in_list))

    def messages(self) -> list[dict[str, Any]]:
        return [{"role": role, "content": _collapsed(blocks, in_list)} for role, blocks, in_list in self._said]


def _answer(talk: _Talk, message: UIMessage, *, is_last: bool) -> None:
    found = steps(message)
    for number, parts in enumerate(found, 1):
        goes_on = is_last and number == len(found)  # calls over there may still be running
        talk.add("assistant", _spoken(talk.ids, parts, goes_on), _in_list(parts))
        calls = [part for part in parts if is_tool(part["type"]) and not tools.is_server(part)]
        results = tool_parts.in_order(calls, MESSAGES)
        talk.add("user", [tools.result(part, talk.ids.of(part)) for part in results])


def _spoken(ids: tools.Ids, parts: list[Part], goes_on: bool) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    late: list[_Late] = []
    for part in parts:
        if not is_tool(part["type"]):
            said += _thought(part) if part["type"] == "reasoning" else content.blocks(_shown(part))
            continue
        said.append(tools.use(part, ids.give(part)))
        result = tools.server_result(part, goes_on) if tools.is_server(part) else None
        place = tools.place(part)
        if result is not None and place is None:
            said.append(result)
        elif result is not None and place is not None:
            late.append(_Late(place, result))
    for place, result in sorted(late, key=attrgetter("place")):
        said.insert(place, result)
    return said


def _shown(part: Part) -> list[Part]:
    return [] if part["type"] == "file" else [part]


def _thought(part: Part) -> list[dict[str, Any]]:
    facts, kept = MESSAGES.facts(part), MESSAGES.kept(part, "block")
    if facts.get("redactedData"):
        return [{"type": "redacted_thinking", "data": facts["redactedData"], **kept}]
    if facts.get("signature"):
        return [{"type": "thinking", "thinking": part["text"], "signature": facts["signature"], **kept}]
    return []
