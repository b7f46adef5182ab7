"""JSON kept exactly, and the bytes that digests are made of.

A value handed over as JSON text keeps its bytes: it travels as `msgspec.Raw` and is spliced, never
decoded and encoded again. Python values are checked first (msgspec would write NaN as null), then
encoded once. Lone surrogates, which UTF-8 cannot hold, are written as \\uXXXX escapes. What msgspec refuses goes to
Python's own `json`, which is imported when that first happens.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from ..errors import BadValue

Raw = msgspec.Raw
MAX_DEPTH = 1_000
LARGE = 1 << 20  # characters of a text of which there should be no copy too many
LONGEST_NAME = 512  # bytes of an id, an alias, an agent
LONGEST_TITLE = 1_000  # characters
LONGEST_KEY = 2_600  # bytes that an entry of an index holds, on every engine
_MANY = 64  # values of one level, among which the same one is looked for
_ROOM = 5_000  # recursion room that MAX_DEPTH nested containers need, on top of the caller's own stack


def _as_json(value: Any) -> Any:
    """Text and whole numbers of a type of their own (an enum's, a library's) are kept as what they are made of."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    raise BadValue(f"{type(value).__name__} is not a JSON value; convert it first")


_encode = msgspec.json.Encoder(enc_hook=_as_json).encode
_decode = msgspec.json.decode
_raw_object = msgspec.json.Decoder(dict[str, Raw]).decode
_raw_array = msgspec.json.Decoder(list[Raw]).decode
_T = TypeVar("_T")
_PLAIN = (str, bool, int, type(None))


def encode(value: Any) -> str:
    """A Python value as compact JSON text; refuses what JSON cannot say."""
    if type(value) is Raw:
        return decode(value)
    check(value)
    text = dump(value)
    refuse_depth(text)
    return text


def decode(given: bytes | Raw) -> str:
    """JSON bytes as text; what it says is for `parse` to look at."""
    try:
        return bytes(given).decode()
    except UnicodeDecodeError as error:
        raise BadValue(f"not valid JSON: {error}") from None


def _to_text(value: Any) -> str:
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate somewhere
        return _encode(_escaped(value)).decode()
    except ValueError as error:  # a number of so many digits that Python does not write it
        raise BadValue(f"this cannot be written as JSON: {error}") from None


def dump(value: Any) -> str:
    """`encode` without the check, for values that were checked when they came in."""
    try:
        return _encode(value).decode()
    except (ValueError, RecursionError):
        return _deep(_to_text, value)


def parse(text: str | bytes | Raw) -> Any:
    """JSON text as a Python value; refuses NaN, Infinity, overflow and depth over MAX_DEPTH."""
    if type(text) is Raw:
        text = bytes(text)
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = _deep(_parse_carefully, text)
    if type(value) in (dict, list) and _may_be_deep(text):
        _check_depth(value)
    return value


def refuse_depth(text: str, inside: int = 0) -> None:
    """Text put together from pieces may nest deeper than each of them; or it will be kept so many levels inside."""
    if _may_be_deep(text, MAX_DEPTH - inside):
        parse("[" * inside + text + "]" * inside)


def open_object(given: Any) -> dict[str, Any]:
    """The keys of a JSON object, each value still as it was written (`Raw`) or as it was given."""
    if isinstance(given, dict):
        return dict(given)
    text = bytes(given) if type(given) is Raw else given
    try:
        return _raw_object(text)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeError, RecursionError):
        return _deep(lambda source: dict(_split_object(source)), text)


def open_array(given: Raw) -> list[Any]:
    """The elements of a JSON array, each still as it was written."""
    try:
        return _raw_array(bytes(given))
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeError, RecursionError):
        return _deep(lambda source: list(_split_array(source)), bytes(given))


def same(one: str, other: str) -> bool:
    """Whether two JSON texts say the same: key order and spacing aside, 1 is neither 1.0 nor true."""
    return one == other or _deep(_sorted, parse(one)) == _deep(_sorted, parse(other))


def check(value: Any) -> None:
    """Refuse what would not come back: NaN, Infinity, depth, keys that are not text, foreign types."""
    if type(value) in _PLAIN:
        return
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH and any(isinstance(item, dict | list | tuple) for item in level):
            raise BadValue(f"nested deeper than {MAX_DEPTH:,} levels; flatten the value")
        level = [child for item in level for child in _children(item)]
        if len(level) > _MANY:  # a list that holds itself twice has twice as many on each level
            level = list({id(child): child for child in level}.values())


def check_name(name: str, value: str | None) -> str | None:
    """A column that is looked up: an id, an alias, an agent. An index must hold it, on every engine."""
    if value is not None and check_column(name, value) and size_of(value) > LONGEST_NAME:
        raise BadValue(f"{name} has {size_of(value):,} bytes; {LONGEST_NAME} is the most, give it a shorter one")
    return value


def check_title(value: str | None) -> str | None:
    if value is not None and check_column("title", value) and not fits_title(value):
        most = f"{LONGEST_TITLE:,} ({LONGEST_KEY:,} bytes)"
        raise BadValue(f"the title has {len(value):,} characters; {most} are the most")
    return value


def check_workspace(value: str | None) -> str | None:
    if value is not None and check_column("workspace", value) and size_of(value) > LONGEST_KEY:
        raise BadValue(f"workspace has {size_of(value):,} bytes; {LONGEST_KEY:,} are the most")
    return value


def fits_title(value: str) -> bool:
    return len(value) <= LONGEST_TITLE and size_of(value) <= LONGEST_KEY


def size_of(value: str) -> int:
    """In bytes of UTF-8; of what UTF-8 cannot say, at least that."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


def check_text(name: str, value: str | None) -> str | None:
    """Longer text bound for a column: lines are fine; NUL and half characters are not."""
    if value is not None and (not isinstance(value, str) or not fits_column(value)):
        raise BadValue(f"{name} must be text without NUL and without half characters (lone surrogates)")
    return value


def check_column(name: str, value: str | None) -> str | None:
    """Text bound for a column: no NUL, no control character, no lone surrogate."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadValue(f"{name} must be text, not {type(value).__name__}")
    if value.isprintable() and value.isascii():
        return value
    for character in value:
        code = ord(character)
        if code < 32 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
            raise BadValue(f"{name} holds the character U+{code:04X}; remove control characters from it")
    return value


def fits_column(text: str) -> bool:
    """Whether a column of each engine holds it. JSON has texts that none does: NUL, half characters."""
    return "\0" not in text and not has_surrogates(text)


def join_surrogates(text: str) -> str:
    """Join the halves of characters that a stream cut in two; a half without its other half stays."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def has_surrogates(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


# ---------------------------------------------------------------- inside


def _children(item: Any) -> list[Any]:
    kind = type(item)
    if kind is dict:
        for key in item:
            if type(key) is not str:
                raise BadValue(f"JSON object keys are text; {key!r} is not")
        return [v for v in item.values() if type(v) not in _PLAIN]
    if kind in (list, tuple):
        return [v for v in item if type(v) not in _PLAIN]
    if kind is float:
        if not math.isfinite(item):
            raise BadValue(f"{item} is not a JSON number; use null or a string")
        return []
    if kind is Raw:
        parse(item)
        return []
    if isinstance(item, _PLAIN):  # subclasses: enums of text, bool-like ints
        return []
    raise BadValue(f"{kind.__name__} is not a JSON value; convert it first")


def _escaped(value: Any) -> Any:
    import json

    if isinstance(value, str):
        return Raw(json.dumps(join_surrogates(value)).encode()) if has_surrogates(value) else value
    if isinstance(value, dict):
        if any(has_surrogates(key) for key in value):
            inner = ",".join(f"{json.dumps(k)}:{_to_text(v)}" for k, v in value.items())
            return Raw(f"{{{inner}}}".encode())
        return {k: _escaped(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(v) for v in value]
    return value


def _parse_carefully(text: str | bytes) -> Any:
    import json

    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except BadValue:
        raise
    except (ValueError, UnicodeError) as error:
        raise BadValue(f"not valid JSON: {error}") from None


def _decoder() -> Any:
    import json

    return json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def _split_object(text: str | bytes) -> Iterator[tuple[str, Raw]]:
    """The slices of a JSON object, for what msgspec refuses (lone surrogates, great depth)."""
    source = text.decode() if isinstance(text, bytes) else text
    decoder = _decoder()
    if not isinstance(_parse_carefully(source), dict):
        raise BadValue("not a JSON object")
    at = _skip(source, source.index("{") + 1)
    while source[at] != "}":
        key, at = decoder.raw_decode(source, at)
        at = _skip(source, source.index(":", at) + 1)
        _, end = decoder.raw_decode(source, at)
        yield key, Raw(escape_text(source[at:end]).encode())
        at = _skip(source, end)
        if source[at] == ",":
            at = _skip(source, at + 1)


def _split_array(text: bytes) -> Iterator[Raw]:
    source = text.decode()
    decoder = _decoder()
    if not isinstance(_parse_carefully(source), list):
        raise BadValue("not a JSON array")
    at = _skip(source, source.index("[") + 1)
    while source[at] != "]":
        _, end = decoder.raw_decode(source, at)
        yield Raw(escape_text(source[at:end]).encode())
        at = _skip(source, end)
        if source[at] == ",":
            at = _skip(source, at + 1)


def _sorted(value: Any) -> str:
    import json

    return json.dumps(value, sort_keys=True)


def escape_text(text: str) -> str:
    """JSON text with its lone surrogates (if any) as escapes, so that UTF-8 can hold it."""
    if not has_surrogates(text):
        return text
    return "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) < 0xE000 else c for c in join_surrogates(text))


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\n\r":
        at += 1
    return at


def _refuse(constant: str) -> Any:
    raise BadValue(f"{constant} is not a JSON number; use null or a string")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise BadValue(f"{text[:40]} does not fit a double; send it as a string")
    return number


def _may_be_deep(text: str | bytes, most: int = MAX_DEPTH) -> bool:
    if len(text) <= most:
        return False
    if isinstance(text, str):
        return text.count("[") + text.count("{") > most
    return text.count(b"[") + text.count(b"{") > most


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise BadValue(f"nested deeper than {MAX_DEPTH:,} levels; flatten the value")
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]


def _deep(work: Callable[[Any], _T], value: Any) -> _T:
    """Run `work`; a value deeper than the interpreter's stack gets more room before it is refused."""
    try:
        return work(value)
    except RecursionError:
        pass
    try:
        with _more_stack():
            return work(value)
    except RecursionError:
        raise BadValue(f"nested deeper than {MAX_DEPTH:,} levels; flatten the value") from None


@contextmanager
def _more_stack() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _ROOM))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
