"""The metadata keys that the store owns, kept apart from the bytes the caller gave.

`usage` (when turn.usage() told us), `queued_at` and `hidden_at` are spliced as text before the closing brace, in
this order, and cut out again as text, so the caller's own bytes never change and a message's leaf digest covers
exactly them.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..base import exact_json
from ..errors import BadValue, ReservedKey
from . import counting, damage

OWNED = ("hidden_at", "queued_at")
_STAMP = {key: re.compile(rf',?"{key}":\d+$') for key in OWNED}
_USAGE = re.compile(r',?"usage":\{[^{}]*\}$')


def as_given(metadata: Any) -> str:
    """A caller's metadata as the text to store; refuses what is not an object and keys that are ours."""
    if metadata is None:
        return "{}"
    text = exact_json.encode(metadata)
    value = exact_json.parse(text)
    if not isinstance(value, dict):
        raise BadValue(f"metadata is an object, not {type(value).__name__}")
    for key in OWNED:
        if key in value:
            raise ReservedKey(key)
    if "usage" in value:
        counting.check_metadata(value)
    return text


def splice(text: str, key: str, value: str) -> str:
    """`text` with one more key before its closing brace. What is no object has no place for one, and stays."""
    if not _is_object(text):
        return text
    brace = text.rindex("}")
    inside = text[text.index("{") + 1 : brace]
    comma = "," if inside.strip() else ""
    return f'{text[:brace]}{comma}"{key}":{value}{text[brace:]}'


def _is_object(text: Any) -> bool:
    """Whether it looks like one; what does not (see damage.py) has no keys to add or to cut."""
    return type(text) is str and text.rstrip().endswith("}") and text.lstrip().startswith("{")


class _Cut(NamedTuple):
    """A text without one of our keys, and what the key said; None: it was not there."""

    rest: str
    value: str | None


def _cut(text: str, pattern: re.Pattern[str]) -> _Cut:
    if not _is_object(text):
        return _Cut(text, None)
    brace = text.rindex("}")
    found = pattern.search(text, 0, brace)
    if found is None:
        return _Cut(text, None)
    _, _, value = found[0].partition(":")
    return _Cut(text[: found.start()] + text[brace:], value)


def hide(text: str, at: int) -> str:
    return text if is_hidden(text) else splice(text, "hidden_at", str(at))


def unhide(text: str) -> str:
    return _cut(text, _STAMP["hidden_at"]).rest


def unqueue(text: str) -> str:
    return _cut(text, _STAMP["queued_at"]).rest


def is_queued(text: str) -> bool:
    return _is_object(text) and '"queued_at"' in text and _cut(text, _STAMP["queued_at"]).value is not None


def hidden_stamp(text: str) -> int | None:
    """When one of our rows was hidden; None if it is visible."""
    found = _cut(text, _STAMP["hidden_at"]).value
    return int(found) if found else None


def is_hidden(text: str) -> bool:
    return _is_object(text) and '"hidden_at"' in text and hidden_stamp(text) is not None


def is_out_of_sight(text: str) -> bool:
    """Hidden or queued, for rows of another program, which may write the keys at any place in the object."""
    if not any(f'"{key}"' in text for key in OWNED):
        return False
    value = damage.parsed(text)
    return isinstance(value, dict) and any(value.get(key) is not None for key in OWNED)


def add_owned(given: str, *, usage: str | None, hidden_at: int | None) -> str:
    """The caller's metadata with the keys we own, in their order."""
    text = splice(given, "usage", usage) if usage else given
    return hide(text, hidden_at) if hidden_at is not None else text


def strip_owned(text: str, *, usage_told: bool) -> str:
    """The caller's bytes again."""
    for key in OWNED:
        text = _cut(text, _STAMP[key]).rest
    return _cut(text, _USAGE).rest if usage_told else text


def reported_usage(text: str) -> str | None:
    """The usage that we added, as text."""
    for key in OWNED:
        text = _cut(text, _STAMP[key]).rest
    return _cut(text, _USAGE).value


def view(text: str) -> str:
    """What a UIMessage shows: everything but the stamps that are about rows, not about the message."""
    if '_at"' not in text:
        return text
    for key in OWNED:
        text = _cut(text, _STAMP[key]).rest
    return text
