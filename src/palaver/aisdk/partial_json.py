"""What can be read from JSON text that is still arriving: the AI SDK's `parsePartialJson`.

The text is parsed as it is; failing that it is repaired and parsed once more; failing that there is
no value. The repair is one pass of a stack machine. It remembers how far the text can be kept, cuts
there and closes what is open. Its quirks (blanks swallowed after numbers, no escapes in keys, `[-`
kept) are the SDK's and are wanted: the client must see the same value as the store.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Callable
from typing import Any

from ..base import exact_json
from ..errors import BadValue

_MAX_DIGITS = 4_300  # more digits than any double has, and more than Python turns into an int
_plain_run = re.compile(r'[^"\\]*')
_suspect = re.compile(r"__proto__|constructor|\\u00")
_LITERALS = ("true", "false", "null")
_DIGITS = "0123456789"


def parse_partial(text: str) -> tuple[bool, Any]:
    """(is there a value?, the value) of the JSON text received so far."""
    found, value = _parse(text)
    return (found, value) if found else _parse(repair(text))


def repair(text: str) -> str:
    """The longest usable beginning of `text`, completed to valid JSON where that is possible."""
    if text.isascii() or max(text) <= "\uffff":
        return _Machine(text).run()
    return exact_json.join_surrogates(_Machine(_units(text)).run())


def _parse(text: str) -> tuple[bool, Any]:
    try:
        value = exact_json._deep(_load, text)
        if isinstance(value, dict | list):
            if exact_json._may_be_deep(text + "["):
                exact_json._check_depth([value])  # it stands one level deep in its part
            if _suspect.search(text) and _pollutes(value):
                return False, None
            if exact_json.has_surrogates(text):
                value = _joined(value)
    except (BadValue, ValueError):
        return False, None
    return True, exact_json.join_surrogates(value) if isinstance(value, str) else value


def _load(text: str) -> Any:
    return json.loads(text, parse_constant=exact_json._refuse, parse_float=_number, parse_int=_integer)


def _number(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None  # JavaScript reads Infinity and prints null


def _integer(text: str) -> int | None:
    return int(text) if len(text) < _MAX_DIGITS else None


def _pollutes(value: Any) -> bool:
    """Would the SDK refuse these keys, which could reach an object's prototype in JavaScript?"""
    level = [value]
    while level:
        for item in level:
            if isinstance(item, dict) and ("__proto__" in item or _reaches_prototype(item)):
                return True
        level = [child for item in level for child in _inside(item) if isinstance(child, dict | list)]
    return False


def _reaches_prototype(item: dict[str, Any]) -> bool:
    constructor = item.get("constructor")
    return isinstance(constructor, dict) and "prototype" in constructor


def _inside(item: Any) -> Any:
    return item.values() if isinstance(item, dict) else item


def _joined(value: Any) -> Any:
    """Join surrogate halves of which one was text and the other an escape."""
    return json.loads(json.dumps(value))


def _units(text: str) -> str:
    """The text as JavaScript counts it: one character for each UTF-16 unit."""
    return "".join(map(chr, array("H", text.encode("utf-16-le", "surrogatepass"))))


class _Machine:
    """The repair. A state's step takes (character, index) and answers the next index to look at.
    The name of a state inside a container begins with the character that closes the container."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kept = -1
        self.stack = ["root"]
        self.literal_at = 0
        self.hex_digits = 0

    def run(self) -> str:
        at, end, text, stack = 0, len(self.text), self.text, self.stack
        while at < end:
            if stack[-1] == "finish":  # nothing that follows is looked at
                break
            at = _STEPS[stack[-1]](self, text[at], at)
        return text[: self.kept + 1] + "".join(map(self._closing, reversed(stack)))

    def _closing(self, state: str) -> str:
        if state == "literal":
            return self._rest_of_literal(self.text[self.literal_at :])
        return '"' if state == "string" else state[0] if state[0] in "}]" else ""

    @staticmethod
    def _rest_of_literal(begun: str) -> str:
        return next((word[len(begun) :] for word in _LITERALS if word.startswith(begun)), "")

    # ---- values

    def value(self, char: str, at: int, after: str) -> int:
        state = _OPENERS.get(char)
        if state is not None:
            self.stack[-1] = after
            self.stack.append(state)
            self.literal_at = at
            if char != "-":
                self.kept = at
        return at + 1

    def root(self, char: str, at: int) -> int:
        return self.value(char, at, "finish")

    def string(self, char: str, at: int) -> int:
        if char == "\\":
            self.stack.append("escape")
            return at + 1
        if char == '"':
            self.stack.pop()
            self.kept = at
            return at + 1
        run = _plain_run.match(self.text, at)
        end = run.end() if run else at + 1
        self.kept = end - 1
        return end

    def escape(self, char: str, at: int) -> int:
        if char == "u":
            self.hex_digits = 0
            self.stack[-1] = "unicode"
        else:
            self.stack.pop()
            self.kept = at
        return at + 1

    def unicode(self, char: str, at: int) -> int:
        if char in "0123456789abcdefABCDEF":
            self.hex_digits += 1
            if self.hex_digits == 4:
                self.stack.pop()
                self.kept = at
        return at + 1

    def literal(self, char: str, at: int) -> int:
        begun = self.text[self.literal_at : at + 1]
        if any(word.startswith(begun) for word in _LITERALS):
            self.kept = at
            return at + 1
        self.stack.pop()
        return self.leave(char, at)

    def number(self, char: str, at: int) -> int:
        if char in _DIGITS:
            self.kept = at
        elif char not in "eE-.":
            self.stack.pop()
            return self.leave(char, at)
        return at + 1

    def leave(self, char: str, at: int) -> int:
        """The character that ends a number or literal: it counts as punctuation, or is swallowed."""
        state = self.stack[-1]
        if state == "}after":
            return self.object_after(char, at)
        if state == "]after" and char in ",]":
            return self.array_after(char, at)
        return at + 1

    # ---- objects and arrays

    def object_start(self, char: str, at: int) -> int:
        return self.pop(at) if char == "}" else self.object_comma(char, at)

    def object_comma(self, char: str, at: int) -> int:
        if char == '"':
            self.stack[-1] = "}key"
        return at + 1

    def object_key(self, char: str, at: int) -> int:
        end = self.text.find('"', at)
        if end < 0:
            return len(self.text)
        self.stack[-1] = "}colon"
        return end + 1

    def object_colon(self, char: str, at: int) -> int:
        if char == ":":
            self.stack[-1] = "}value"
        return at + 1

    def object_value(self, char: str, at: int) -> int:
        return self.value(char, at, "}after")

    def object_after(self, char: str, at: int) -> int:
        if char == "}":
            return self.pop(at)
        if char == ",":
            self.stack[-1] = "}comma"
        return at + 1

    def array_start(self, char: str, at: int) -> int:
        self.kept = at
        return self.pop(at) if char == "]" else self.value(char, at, "]after")

    def array_comma(self, char: str, at: int) -> int:
        return self.value(char, at, "]after")

    def array_after(self, char: str, at: int) -> int:
        if char == ",":
            self.stack[-1] = "]comma"
            return at + 1
        self.kept = at
        return self.pop(at) if char == "]" else at + 1

    def pop(self, at: int) -> int:
        self.stack.pop()
        self.kept = at
        return at + 1


_OPENERS = {'"': "string", "{": "}start", "[": "]start", "-": "number"}
_OPENERS |= dict.fromkeys("tfn", "literal") | dict.fromkeys(_DIGITS, "number")
_STEPS: dict[str, Callable[[_Machine, str, int], int]] = {
    "root": _Machine.root,
    "string": _Machine.string,
    "escape": _Machine.escape,
    "unicode": _Machine.unicode,
    "literal": _Machine.literal,
    "number": _Machine.number,
    "}start": _Machine.object_start,
    "}comma": _Machine.object_comma,
    "}key": _Machine.object_key,
    "}colon": _Machine.object_colon,
    "}value": _Machine.object_value,
    "}after": _Machine.object_after,
    "]start": _Machine.array_start,
    "]comma": _Machine.array_comma,
    "]after": _Machine.array_after,
}
