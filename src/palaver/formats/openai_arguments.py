"""Arguments of OpenAI's tool calls: JSON as text, kept to the letter where it would be written otherwise."""

from __future__ import annotations

from typing import Any

from ..base import exact_json
from ..errors import BadValue
from . import tool_parts
from .conversation import Part
from .marks import CHAT


def called(name: str, call_id: str, text: str) -> Part:
    """A call whose input is what the text says. Text that is no JSON is the input itself, and the part says so."""
    try:
        value = exact_json.parse(text)
    except BadValue:
        part = tool_parts.called(name, call_id, text)
        CHAT.tell(part, invalidArguments=True)
        return part
    part = tool_parts.called(name, call_id, value)
    CHAT.tell(part, arguments=None if exact_json.encode(value) == text else text)
    return part


def text(part: Part) -> str:
    """The input as arguments: as it was given, unless it was changed since."""
    facts, given = CHAT.facts(part), tool_parts.given(part)
    if isinstance(given, str) and (facts.get("invalidArguments") is True or "input" not in part):
        return given
    kept = facts.get("arguments")
    return kept if isinstance(kept, str) and _says(kept, given) else exact_json.encode(given)


def _says(text: str, value: Any) -> bool:
    try:
        return exact_json.same(text, exact_json.encode(value))
    except BadValue:
        return False  # somebody else put it there
