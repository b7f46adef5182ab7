"""Conversations in the formats of model APIs: UIMessages of the AI SDK, messages of OpenAI (Chat Completions and
Responses) and of Anthropic. An array of messages, an object that holds it, or a file with one of them to a line.

A turn is what a person said and everything up to the next time, or up to the one after it where a result answers a call
from before; its items are the elements of the array, and the prompt beside it. What none of our messages says stays in
the items, and is counted. What else an object says beside its array (a model, tools) is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from .. import formats
from ..aisdk.parts import FINAL, is_tool
from ..base import arguments
from ..errors import BadValue
from ..formats import Conversation
from ..formats.looking import choose
from ..grafts.values import GraftSession, GraftTurn
from .items import Item, Items, Line, encoded, holds_messages, items_of, value_of
from .json_items import Broken

_NAMES = {"aisdk": "the AI SDK", "openai": "OpenAI", "openai-responses": "OpenAI", "anthropic": "Anthropic"}
_UI = {"id", "role", "metadata", "parts", "content"}


def aisdk(source: Any, *, id: str, file: str | None = None, **about: Any) -> GraftSession:
    """UIMessages. `about` is what a `GraftSession` begins with: agent, title, facts …"""
    return _session("aisdk", ("aisdk",), source, id, file, about)


def openai(source: Any, *, id: str, file: str | None = None, **about: Any) -> GraftSession:
    """Messages of Chat Completions, or items of Responses: what it is, is seen."""
    return _session("openai", ("openai", "openai-responses"), source, id, file, about)


def anthropic(source: Any, *, id: str, file: str | None = None, **about: Any) -> GraftSession:
    return _session("anthropic", ("anthropic",), source, id, file, about)


BY_NAME = {"aisdk": aisdk, "openai": openai, "anthropic": anthropic}


def conversations_in(
    data: Any, format: str, *, id: str, file: str | None = None, **about: Any
) -> Iterator[GraftSession]:
    """The conversations of a JSON Lines file that has a whole one to a line, as files for fine-tuning do: sessions
    `<id>/1`, `<id>/2` … one by one. `data` is bytes, text, or a file that is open for reading bytes; a line that is no
    conversation is a session whose graft is refused, and the others come in."""
    make = choose(BY_NAME, arguments.text("format", format), "format")
    number, place = 0, 0
    for line in _lines(data):
        if line.strip():
            number += 1
            yield _of_line(make, Line(line.rstrip(b"\r\n"), place), f"{id}/{number}", file, about)
        place += len(line)


def _lines(data: Any) -> Iterable[bytes]:
    if isinstance(data, bytes | str):
        return BytesIO(encoded(data))
    found: Iterable[bytes] = arguments.binary("data", data, "read")
    return found


def _of_line(make: Any, line: Line, id: str, file: str | None, about: dict[str, Any]) -> GraftSession:
    try:
        made: GraftSession = make(line, id=id, file=file, **about)
        return made
    except BadValue as error:
        return GraftSession(make.__name__, id, _refused(error), **about)


def _refused(error: BadValue) -> Iterator[GraftTurn]:
    raise error
    yield  # what makes it an iterator: who looks at the session's turns is told


def _session(
    origin: str, wanted: tuple[str, ...], source: Any, id: str, file: str | None, about: dict[str, Any]
) -> GraftSession:
    items = items_of(source, file)
    if any(holds_messages(item.value) for item in items.found):
        raise BadValue(
            "these are several conversations, each in an object of its own: of a file that has one to a line"
            " `importers.conversations_in` makes a session of each"
        )
    if any(isinstance(item.value, dict) and isinstance(item.value.get("choices"), list) for item in items.found):
        raise BadValue(
            "this is an answer of the API, not a conversation: give the messages, and its message behind them"
        )
    format = _format(wanted, items, file)
    items, conversation = _readable(format, items, file)
    return GraftSession(origin, id, _turns(format, items, conversation, file), **about)


# ---------------------------------------------------------------- what they are


def _format(wanted: tuple[str, ...], items: Items, file: str | None) -> str:
    if not items.found:
        if items.broken is not None:
            raise items.broken.error(file or "the source")
        return wanted[0]
    seen: str = formats.nearest(value_of(items.found), wanted)
    if seen not in wanted:
        raise BadValue(f"these are no messages of {_NAMES[wanted[0]]}; they look like {_NAMES[seen]}'s ({seen})")
    return seen


def _readable(format: str, items: Items, file: str | None) -> tuple[Items, Conversation]:
    """The items up to the first that is no message, and what they say."""
    try:
        return items, formats.read(value_of(items.found), format)
    except BadValue as error:
        kept, why = _longest(items.found, format), str(error)
    where = items.found[len(kept)].given.place
    if where is None:
        raise BadValue(why)
    if all(item.is_prompt for item in kept):
        raise BadValue(f"{file or 'the source'}, byte {where}: {why}")
    return Items(kept, Broken(where, why)), formats.read(value_of(kept), format)


def _longest(items: list[Item], format: str) -> list[Item]:
    """As many of the first items as can be read; all of them cannot."""
    least, most = 0, len(items) - 1
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if _reads(items[:middle], format) else (least, middle - 1)
    return items[:least]


def _reads(items: list[Item], format: str) -> bool:
    try:
        formats.read(value_of(items), format)
    except BadValue:
        return False
    return True


# ---------------------------------------------------------------- the turns


def _turns(format: str, items: Items, conversation: Conversation, file: str | None) -> Iterator[GraftTurn]:
    ends = [*_beginnings(conversation, items.found), len(items.found)]
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        if begin < end:
            yield _turn(format, items.found[begin:end])
    if items.broken is not None:
        raise items.broken.error(file or "the source")


def _beginnings(conversation: Conversation, items: list[Item]) -> list[int]:
    """Where turns begin, but for the first, which takes what stands before it, too. One that has an item in common with
    a turn before it, or comes before one of its items (a result, late), is not parted from it."""
    prompts = sum(item.is_prompt for item in items)
    found, reached = list[int](), -1
    for turn in conversation.turns:
        indexes = [item.index for item in turn.items]
        if reached >= 0 and indexes and min(indexes) > reached:
            found.append(min(indexes) + prompts)
        reached = max([reached, *indexes])
    return found


def _turn(format: str, items: list[Item]) -> GraftTurn:
    given = [item.given for item in items]

    def rest(known: int) -> GraftTurn | None:
        if known and _has_open_calls(formats.read(value_of(items[:known]), format)):
            return None
        conversation = formats.read(value_of(items[known:]), format)
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


def _ui(items: list[Item]) -> tuple[list[dict[str, Any]], list[str]]:
    """UIMessages as a graft takes them. What is no key of theirs is told; `createdAt` is a time."""
    messages, homeless = [], []
    for index, item in enumerate(items):
        message = {key: value for key, value in item.value.items() if key in _UI}
        for key in [key for key in item.value if key not in _UI]:
            at = _time(item.value[key]) if key == "createdAt" else None
            if at is not None:
                message["created_at"] = at
            else:
                homeless.append(f"item {index} {key}: it is no key of a UIMessage")
        messages.append(message)
    return messages, homeless


def _time(given: Any) -> int | None:
    """ISO text (without a zone: UTC) or epoch milliseconds."""
    if type(given) is int:
        return given
    try:
        at = datetime.fromisoformat(given) if isinstance(given, str) else None
        return None if at is None else round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
