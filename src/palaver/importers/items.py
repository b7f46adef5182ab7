"""The messages of a conversation as items to graft: of an array, of an object that holds one, of the lines of a file,
or of values; each with its own bytes, and where they stand."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..base import arguments, exact_json
from ..errors import BadValue
from ..grafts.values import GraftItem
from . import json_items
from .json_items import Broken, Element, Elements, Text

_HOLDERS = ("messages", "input", "output")  # where an object has the array
_PROMPTS = {"messages": "system", "input": "instructions", "output": "instructions"}  # and what stands before it all


class Line(NamedTuple):
    """A line of a file, and at which byte it begins."""

    data: bytes
    place: int


class Item(NamedTuple):
    """An element, decoded, and the key of the object that it is under; None: it is of a bare array."""

    given: GraftItem
    value: Any
    key: str | None = None

    @property
    def is_prompt(self) -> bool:
        return self.key in _PROMPTS.values()


class Items(NamedTuple):
    found: list[Item]
    broken: Broken | None


def items_of(source: Any, file: str | None) -> Items:
    if isinstance(source, Line):
        return _of_conversation(json_items.text_of(*source), file)
    if isinstance(source, bytes | str):
        return _of_text(json_items.text_of(encoded(source)), file)
    if isinstance(source, dict):
        return Items(_with_ids(_in_value(source)), None)
    return Items(_with_ids([_given(each) for each in arguments.several("messages", source)]), None)


def encoded(source: bytes | str) -> bytes:
    """Text as the bytes of a file; of half a character it is said then that it is no UTF-8."""
    return source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")


def _given(value: Any, key: str | None = None) -> Item:
    return Item(GraftItem(exact_json.encode(value).encode()), _message(value, key), key)


def _message(value: Any, key: str | None) -> Any:
    """What a request of Responses asks may be a text alone."""
    return {"role": "user", "content": value} if key == "input" and isinstance(value, str) else value


def _in_value(source: dict[str, Any]) -> list[Item]:
    held = _held(source)
    prompt = _PROMPTS[held[0]]
    found = [_given(source[prompt], prompt)] if source.get(prompt) is not None else []
    for key in held:
        given = source[key]
        several = [given] if key == "input" and isinstance(given, str) else arguments.several(key, given)
        found += [_given(each, _under(key)) for each in several]
    return found


def _held(keys: Any) -> list[str]:
    """Where an object has its messages: a call of Responses has what was asked, and what was answered."""
    found = [key for key in _HOLDERS if key in keys]
    if not found:
        raise BadValue(f"an object of messages has them under {', '.join(_HOLDERS)}; this one has none of these")
    return found[:1] if found[0] == "messages" else found


def _under(key: str) -> str:
    """What was answered goes on with what was asked."""
    return "input" if key == "output" else key


def _of_text(source: Text, file: str | None) -> Items:
    begin = source.skipped(0)
    mark = source.text[begin : begin + 1]
    if mark == "[" or (mark == "{" and _is_one_object(source, begin)):
        return _of_conversation(source, file)
    return _of_elements(json_items.lines(source), source, file)


def _is_one_object(source: Text, begin: int) -> bool:
    """Whether a file is an object that holds messages, and not the first of many lines."""
    members, end = json_items.members(source, begin, _HOLDERS)
    return _is_holder(members) and source.skipped(end) == len(source.text)


def _is_holder(members: Any) -> bool:
    return any(key in members for key in _HOLDERS) and "role" not in members and "type" not in members


def holds_messages(value: Any) -> bool:
    return isinstance(value, dict) and _is_holder(value) and isinstance(value[_held(value)[0]], list)


def _of_conversation(source: Text, file: str | None) -> Items:
    """A whole conversation: an array, or an object that holds it."""
    begin = source.skipped(0)
    if source.text[begin : begin + 1] == "[":
        elements = json_items.array(source, begin)
        return _of_elements(_alone(elements, source), source, file)
    if source.text[begin : begin + 1] != "{":
        raise Broken(source.place(begin), "a conversation is an array, or an object that holds it").error("it")
    return _in_object(source, begin, file)


def _alone(elements: Elements, source: Text) -> Elements:
    """An array, behind which there is nothing."""
    behind = source.skipped(elements.end)
    if elements.broken or behind == len(source.text):
        return elements
    return elements._replace(broken=Broken(source.place(behind), "there is something behind the array"))


def _of_elements(elements: Elements, source: Text, file: str | None) -> Items:
    found = [_item(element, file, None) for element in elements.found]
    return Items(_with_ids(found), _why(elements.broken, source))


def _why(broken: Broken | None, source: Text) -> Broken | None:
    """What breaks off where a file is no UTF-8 any more, breaks off because of that."""
    if broken is None or source.cut is None:
        return broken or source.cut
    return broken._replace(why=f"{source.cut.why} at byte {source.cut.place}")


def _item(element: Element, file: str | None, key: str | None) -> Item:
    return Item(GraftItem(element.text.encode(), None, file, element.place), _message(element.value, key), key)


def _in_object(source: Text, begin: int, file: str | None) -> Items:
    """The elements of the array in an object, and the prompt beside it, each with its own bytes."""
    members, _ = json_items.members(source, begin, _HOLDERS)
    broken = members[""].broken if "" in members else None
    if broken is not None and not _is_holder(members):
        return Items([], _why(broken, source))
    held = _held(members)
    prompt = _PROMPTS[held[0]]
    found = [_item(each, file, prompt) for each in members[prompt].found] if prompt in members else []
    found = [item for item in found if item.value is not None]
    for key in held:
        found += [_item(element, file, _under(key)) for element in members[key].found]
        broken = members[key].broken or broken
    return Items(_with_ids(found), _why(broken, source))


def _with_ids(items: list[Item]) -> list[Item]:
    """An item that says its id is known by it; a reference says the id of another."""
    found = []
    for item in items:
        name = item.value.get("id") if isinstance(item.value, dict) and not item.is_prompt else None
        if isinstance(name, str) and name and not name.startswith("#") and not _is_reference(item.value):
            given = item.given
            item = item._replace(given=GraftItem(given.body, name, given.file, given.place))
        found.append(item)
    return found


def _is_reference(value: dict[str, Any]) -> bool:
    return value.get("type", "item_reference") == "item_reference" and "role" not in value


def value_of(items: list[Item]) -> Any:
    """As `formats.read` takes them."""
    prompts = {item.key: item.value for item in items if item.is_prompt}
    messages = [item.value for item in items if not item.is_prompt]
    keys = [item.key for item in items if not item.is_prompt]
    key = keys[0] if keys else "input" if "instructions" in prompts else "messages"
    return messages if not prompts and key is None else {**prompts, key: messages}
