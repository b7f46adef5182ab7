"""Conversations in the formats of model APIs: UIMessages of the AI SDK, messages of OpenAI (Chat Completions and
Responses) and of Anthropic. An array of messages, an object that holds it, or a file with one of them to a line.

A turn is what a person said and everything up to the next time; its items are the elements of the array. What none of
our messages says stays in the items, and is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from .. import formats
from ..aisdk.parts import FINAL, is_tool
from ..base import arguments, exact_json
from ..errors import BadValue
from ..formats import Conversation
from ..grafts.values import GraftItem, GraftSession, GraftTurn
from . import json_items
from .json_items import Broken, Element

_NAMES = {"aisdk": "the AI SDK", "openai": "OpenAI", "openai-responses": "OpenAI", "anthropic": "Anthropic"}
_HOLDERS = ("messages", "input", "output")  # where an object has the array
_UI = {"id", "role", "metadata", "parts", "content"}


def aisdk(source: Any, *, id: str, file: str | None = None, **about: Any) -> GraftSession:
    """UIMessages. `about` is what a `GraftSession` begins with: agent, title, facts …"""
    return _session("aisdk", ("aisdk",), source, id, file, about)


def openai(source: Any, *, id: str, file: str | None = None, **about: Any) -> GraftSession:
    """Messages of Chat Completions, or items of Responses: what it is, is seen."""
    return _session("openai", ("openai", "openai-responses"), source, id, file, about)


def anthropic(source: Any, *, id: str, file: str | None = None, **about: Any) -> GraftSession:
    return _session("anthropic", ("anthropic",), source, id, file, about)


class _Item(NamedTuple):
    """An element, decoded; `is_prompt`: it is not of the array but the `system` beside it."""

    given: GraftItem
    value: Any
    is_prompt: bool = False


def _session(
    origin: str, wanted: tuple[str, ...], source: Any, id: str, file: str | None, about: dict[str, Any]
) -> GraftSession:
    items, broken = _items(source, file)
    format = _format(wanted, items, broken)
    return GraftSession(origin, id, _turns(format, items, broken, file), **about)


# ---------------------------------------------------------------- the items


def _items(source: Any, file: str | None) -> tuple[list[_Item], Broken | None]:
    if isinstance(source, bytes | str):
        return _of_text(source.encode() if isinstance(source, str) else source, file)
    given, prompt = source, None
    if isinstance(source, dict):
        holder = _holder(source)
        given, prompt = source[holder], source.get("system")
    found = [_Item(GraftItem(exact_json.encode(each).encode()), each) for each in arguments.several("messages", given)]
    if prompt is not None:
        found.insert(0, _Item(GraftItem(exact_json.encode(prompt).encode()), prompt, is_prompt=True))
    return _with_ids(found), None


def _of_text(data: bytes, file: str | None) -> tuple[list[_Item], Broken | None]:
    text, cut = json_items.text_of(data)
    begin = len(text) - len(text.lstrip())
    if text[begin : begin + 1] == "[":
        found, broken = json_items.array(text, begin)
    else:
        whole = _object(text)
        if whole is not None:
            return _with_ids(_in_object(whole, text, file)), cut
        found, broken = json_items.lines(text)
    return _with_ids([_item(element, file) for element in found]), broken or cut


def _item(element: Element, file: str | None) -> _Item:
    return _Item(GraftItem(element.text.encode(), None, file, element.place), exact_json.parse(element.text))


def _object(text: str) -> dict[str, Any] | None:
    """The values of an object that holds messages, as they stand there; None: it is none."""
    try:
        value = exact_json.parse(text)
    except BadValue:
        return None
    return exact_json.open_object(text.encode()) if isinstance(value, dict) and _has_array(value) else None


def _has_array(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(name), list) for name in _HOLDERS)


def _holder(value: dict[str, Any]) -> str:
    for name in _HOLDERS:
        if name in value:
            return name
    raise BadValue(f"an object of messages has them under {', '.join(_HOLDERS)}; this one has none of these")


def _in_object(raw: dict[str, Any], text: str, file: str | None) -> list[_Item]:
    """The elements of the array in an object, and the prompt beside it, each with its own bytes."""
    holder, found = _holder(raw), list[_Item]()
    if "system" in raw:
        body = bytes(raw["system"])
        found.append(_Item(GraftItem(body, None, file), exact_json.parse(body), is_prompt=True))
    place = 0
    data = text.encode()
    for element in exact_json.open_array(raw[holder]):
        body = bytes(element)
        place = data.index(body, place)
        found.append(_Item(GraftItem(body, None, file, place), exact_json.parse(body)))
        place += len(body)
    return found


def _with_ids(items: list[_Item]) -> list[_Item]:
    """An item that says its id is known by it."""
    found = []
    for item in items:
        name = item.value.get("id") if isinstance(item.value, dict) and not item.is_prompt else None
        if isinstance(name, str) and name and not name.startswith("#"):
            given = item.given
            item = item._replace(given=GraftItem(given.body, name, given.file, given.place))
        found.append(item)
    return found


def _format(wanted: tuple[str, ...], items: list[_Item], broken: Broken | None) -> str:
    if not items:
        if broken is not None:
            raise broken.error("the file")
        return wanted[0]
    value = _value(items)
    seen = formats.sniff(value)
    if seen in wanted:
        return str(seen)
    fitting = next((name for name in wanted if _reads(value, name)), None)
    if fitting is not None:
        return fitting
    if seen is not None:
        raise BadValue(f"these are no messages of {_NAMES[wanted[0]]}; they look like {_NAMES[seen]}'s ({seen})")
    formats.read(value, wanted[0])  # which says what is wrong
    raise BadValue(f"these are no messages of {_NAMES[wanted[0]]}")


def _reads(value: Any, name: str) -> bool:
    """Whether it can be read, though it does not look like it: a message with a block of a kind that is new."""
    if formats.sniff(value) is not None:
        return False
    try:
        formats.read(value, name)
    except BadValue:
        return False
    return True


def _value(items: list[_Item]) -> Any:
    """As `formats.read` takes them."""
    messages = [item.value for item in items if not item.is_prompt]
    prompt = next((item.value for item in items if item.is_prompt), None)
    return messages if prompt is None else {"system": prompt, "messages": messages}


# ---------------------------------------------------------------- the turns


def _turns(format: str, items: list[_Item], broken: Broken | None, file: str | None) -> Iterator[GraftTurn]:
    if items:
        ends = [*_beginnings(formats.read(_value(items), format), items), len(items)]
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            if begin < end:
                yield _turn(format, items[begin:end])
    if broken is not None:
        raise broken.error(file or "the source")


def _beginnings(conversation: Conversation, items: list[_Item]) -> list[int]:
    """Where turns begin, but for the first, which takes what stands before it, too."""
    prompts = sum(item.is_prompt for item in items)
    return [min(item.index for item in turn.items) + prompts for turn in conversation.turns[1:] if turn.items]


def _turn(format: str, items: list[_Item]) -> GraftTurn:
    given = [item.given for item in items]

    def rest(known: int) -> GraftTurn | None:
        if known and _has_open_calls(formats.read(_value(items[:known]), format)):
            return None
        conversation = formats.read(_value(items[known:]), format)
        messages = conversation.messages()
        lost = [*conversation.homeless, *(each for turn in conversation.turns for each in turn.homeless)]
        homeless = [f"item {each.index}{each.path and ' ' + each.path}: {each.what}" for each in lost]
        if format == "aisdk":
            messages, more = _ui(items[known:])
            homeless += more
        return GraftTurn(given[known:], messages, homeless=homeless)

    return GraftTurn(given, rest=rest)


def _has_open_calls(conversation: Conversation) -> bool:
    """Whether what follows may answer a call."""
    parts = (part for message in conversation.messages() for part in message["parts"])
    return any(is_tool(part["type"]) and part.get("state") not in FINAL for part in parts)


def _ui(items: list[_Item]) -> tuple[list[dict[str, Any]], list[str]]:
    """UIMessages as a graft takes them. What is no key of theirs is told; `createdAt` is a time."""
    messages, homeless = [], []
    for index, item in enumerate(items):
        message = {key: value for key, value in item.value.items() if key in _UI}
        for key in item.value.keys() - _UI:
            at = _time(item.value[key]) if key == "createdAt" else None
            if at is not None:
                message["created_at"] = at
            else:
                homeless.append(f"item {index} {key}: it is no key of a UIMessage")
        messages.append(message)
    return messages, homeless


def _time(given: Any) -> int | None:
    """ISO text or epoch milliseconds."""
    if type(given) is int:
        return given
    try:
        return round(datetime.fromisoformat(given).timestamp() * 1000) if isinstance(given, str) else None
    except ValueError:
        return None
