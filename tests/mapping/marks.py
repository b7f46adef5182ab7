"""The value that a generated case gives to a verb: one of its own for each row, in the shape the argument has."""

from __future__ import annotations

import re
import zlib
from typing import Any, NamedTuple

from .homes import Home
from .page import Row
from .schema import Schema
from .verbs import Call

Json = dict[str, Any]
_ENUM = re.compile(r"00\d\.enum\.[^.]+\.(.+)")
_SAID = re.compile(r"`([^`]+)`")  # a note that begins with the word for it here


class Mark(NamedTuple):
    """What is given, and what must then be found at the home."""

    given: Any
    found: Any


def word_of(row: Row) -> str | None:
    """The value that a row is about, if it is about one: as the note says it, or as the seed does."""
    seeds = _ENUM.fullmatch(row.key)
    if seeds is None:
        return None
    ours = _SAID.match(row.note)
    return (ours or seeds)[1].replace("<name>", "name")


def values_for(row: Row, home: Home, call: Call, schema: Schema) -> list[Any]:
    """What the verb is given for a row: a value that no other row has (a number where the column holds numbers), and
    the word that the row is about. Where the word stands for a whole message, it says all."""
    number = zlib.crc32(row.key.encode()) % 1_000_000 + 1_000
    kind = _kind(home, schema)
    if kind in ("INTEGER", "REAL"):
        return [number if kind == "INTEGER" else number + 0.5]
    own, word = f"mark {row.key}", word_of(row)
    if word is None:
        return [own]
    return [own, word] if call.keyword else [word]


def _kind(home: Home, schema: Schema) -> str:
    """What a home holds, as SQL calls it; a row of `usage` is numbers."""
    if home.pointer.startswith(("/usage/", "/trigger/fired_at")) or home.place == "usage":
        return "INTEGER"
    kinds = {name: kind for name, kind, *_ in schema.tables[home.table]}
    return "TEXT" if home.column is None or home.pointer else kinds[home.column]


def nested(pointer: str, value: Any) -> Any:
    """An object that has the value at this place; `*` is a list of one."""
    for key in reversed(pointer.split("/")[1:]):
        value = [value] if key == "*" else {key: value}
    return value


# ---------------------------------------------------------------- arguments


def shaped(call: Call, home: Home, value: Any) -> Mark:
    """The argument that brings a value to a home."""
    shape = _SHAPES.get(str(call)) or _SHAPES.get(f"({call.keyword}=)")
    return shape(home, value) if shape else Mark(value, value)


def _model(home: Home, value: str) -> Mark:
    model = {"provider_id": "some provider", "model_id": "some model"}
    name = home.pointer.rpartition("/")[2] or home.column or ""
    name = {"model": "", "provider": "provider_id"}.get(name, name) if home.pointer else _COLUMNS.get(name, "")
    if not name:
        model["model_id"] = value
        return Mark(model, model)
    return Mark({**model, name: value}, value)


_COLUMNS = {"model": "model_id", "provider": "provider_id"}  # of `turns` and `usage`; model_json is all of it


def _trigger(home: Home, value: Any) -> Mark:
    name = home.pointer.rpartition("/")[2]
    if name == "trigger":
        whole = {"source": value, "fired_at": 1}
        return Mark(whole, whole)
    if name == "headers":
        value = {"some header": value}
    return Mark({"source": "some source", "fired_at": 1, name: value}, value)


def _object(home: Home, value: Any) -> Mark:
    whole = nested(home.pointer, value) if home.pointer else {"some key": value}
    return Mark(whole, value if home.pointer else whole)


def _tools(home: Home, value: str) -> Mark:
    return Mark([value], value if home.pointer.endswith("/*") else [value])


def _rules(home: Home, value: str) -> Mark:
    rules = [{"permission": value, "pattern": "*", "action": "allow", "source": "project"}]
    return Mark(rules, rules)


def _in_a_list(home: Home, value: str) -> Mark:
    return Mark(value, [value])


def _failure(home: Home, value: str) -> Mark:
    return Mark(value, {"message": value} if home.pointer == "/error" else value)


def _action(home: Home, value: str) -> Mark:
    action = value if value in ("allow", "deny") else "ask"
    return Mark(action, action)


def _yes(home: Home, value: Any) -> Mark:
    return Mark(True, True)


def _counts(home: Home, value: int) -> Mark:
    name = (home.column or "input").removesuffix("_tokens")
    return Mark({name: value}, value)


_SHAPES = {
    "(metadata=)": _object,
    "(settings=)": _object,
    "(tools=)": _tools,
    "(permissions=)": _rules,
    "(trigger=)": _trigger,
    "(usage=)": _counts,
    "(told=)": _counts,
    "(action=)": _action,
    "(auto=)": _yes,
    "(overflow=)": _yes,
    "session.compact(trigger=)": lambda home, value: Mark(value, value),
    "turn.used(permission=)": _in_a_list,
    "turn.fail(message=)": _failure,
    **{
        f"{verb}(model=)": _model
        for verb in ("sessions.create", "session.update", "session.turn", "turn.usage", "session.add_usage")
    },
}


# ---------------------------------------------------------------- messages

_TOOL = {"type": "tool-name", "toolCallId": "some call", "state": "output-available", "input": {}, "output": "some"}
_FILE = {"type": "file", "mediaType": "text/plain", "url": "data:,some"}
_BASES: dict[str, Json] = {
    "data": {"type": "data-name"},
    "errorText": {**_TOOL, "state": "output-error"},
    "rawInput": {**_TOOL, "state": "output-error", "errorText": "some error"},
    **dict.fromkeys(("input", "output", "title", "toolMetadata", "callProviderMetadata"), _TOOL),
    **dict.fromkeys(("mediaType", "url", "filename"), _FILE),
}


def message(row: Row, home: Home, value: Any) -> tuple[Json, Any]:
    """A message that carries a value to its home, and what must be found there."""
    said: Json = {"role": _role(row), "parts": [{"type": "text", "text": "some text"}]}
    if home.place == "heads.preview":
        return {"role": "user", "content": value}, value
    if home.table == "chat_parts":
        part, found = _part(row, home, value)
        return {**said, "parts": [part]}, found
    if home.column == "role":
        role = word_of(row) or "system"
        return {**said, "role": role}, role
    given, found = _object(home, value)
    return {**said, "metadata": given}, found


def _role(row: Row) -> str:
    if ".user" in row.key:
        return "user"
    return "system" if ".system" in row.key else "assistant"


def _part(row: Row, home: Home, value: Any) -> tuple[Json, Any]:
    if home.column == "type":
        return {**(_TOOL if value.startswith(("tool-", "dynamic-tool")) else {}), "type": value}, value
    if home.column == "tool_call_id":
        return {**_TOOL, "toolCallId": value}, value
    if not home.pointer:
        whole = {"type": "data-name", "data": value}
        return whole, whole
    return {**_base(row, home), **nested(home.pointer, value)}, value


def _base(row: Row, home: Home) -> Json:
    first = home.pointer.split("/")[1]
    if first in _BASES:
        return _BASES[first]
    if "file" in row.key.lower():
        return _FILE
    kind = "reasoning" if re.search(r"reasoning|thinking", row.key) else "text"
    return {"type": kind, "text": "some text"}
