"""JSON for programs: one line of pure ASCII, so that no terminal can be attacked through it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from palaver.base.exact_json import Raw


def as_json(value: Any) -> str:
    """One line of ASCII. `Raw` values keep their own text: numbers come out as they were written."""
    return ascii_only(_text(value))


def _text(value: Any) -> str:
    if type(value) is Raw:
        return bytes(value).decode()
    if isinstance(value, dict) and _holds_raw(value.values()):
        return "{" + ", ".join(f"{json.dumps(key)}: {_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list) and _holds_raw(value):
        return "[" + ", ".join(map(_text, value)) + "]"
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_without_infinity(value))


def _without_infinity(value: Any) -> Any:
    """What another program left in a table may be no number that JSON can say: null."""
    if isinstance(value, dict):
        return {key: _without_infinity(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinity(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _holds_raw(values: Iterable[Any]) -> bool:
    return any(type(value) in (Raw, dict, list) for value in values)


def ascii_only(text: str) -> str:
    """JSON text with every character beyond ASCII, and DEL, as an escape."""
    if not text.isascii():
        units = text.encode("utf-16-be", "surrogatepass")
        codes = (units[at] << 8 | units[at + 1] for at in range(0, len(units), 2))
        text = "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
    return text.replace("\x7f", "\\u007f")
