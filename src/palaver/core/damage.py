"""Rows that are not what the contract says: any program may write, and disks rot. One of them takes nothing else down.

What cannot be read is shown as such, under the id of its row, and left out of what a model sees; `verify` names it.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ..base import exact_json
from ..errors import BadValue, ChunkError, TurnNotFound

KIND = "data-damaged"
R = TypeVar("R", bound=tuple[Any, ...])
OURS = (BadValue, ChunkError, TurnNotFound)
RAISED = (
    *OURS,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RecursionError,
)  # by rows that are not as they were


def part(row_id: str) -> str:
    """What stands for a part that cannot be read."""
    return exact_json.encode({"type": KIND, "data": {"part": as_text(row_id)}})


def is_part(text: Any) -> bool:
    """Whether this is a part: a JSON object with a type."""
    value = parsed(text)
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def parsed(text: Any) -> Any:
    """A stored JSON text as a value; None where it is none. Half characters in it are bytes that are not UTF-8."""
    if not isinstance(text, str) or exact_json.has_surrogates(text):
        return None
    try:
        return exact_json.parse(text)
    except BadValue:
        return None


def opened(text: Any, row_id: str) -> dict[str, Any]:
    """A stored JSON object; where it is none, whose it was."""
    value = parsed(text)
    return value if isinstance(value, dict) else {"damaged": as_text(row_id)}


def as_text(value: Any) -> str:
    """A column that should be text: as it is, or so that it can be shown."""
    if isinstance(value, str):
        return value if not exact_json.has_surrogates(value) else value.encode("utf-8", "replace").decode()
    return value.hex() if isinstance(value, bytes) else str(value)


def as_json(value: Any) -> str:
    """A column that should be a JSON text: as it is, or a text that is no JSON."""
    return value if isinstance(value, str) else ""


def as_time(value: Any, before: int = 0) -> int:
    """A column that should be epoch milliseconds; a text counts as the time of what stands before it."""
    return value if type(value) is int else int(value) if type(value) is float and abs(value) < 2**62 else before


# ---------------------------------------------------------------- columns that hold another type than theirs

_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float, int), "str": (str,), "bytes": (bytes,)}
_INSTEAD = {"int": 0, "float": 0.0, "bytes": b""}
_seen_sound: set[tuple[type, ...]] = set()  # a row's own type, and those of its values


def sound(row: R) -> R:
    """A row of ours as its columns should be: what is of another type counts as nothing there. A file takes any."""
    types = (type(row), *map(type, row))
    if types in _seen_sound:
        return row
    bad = unsound(row)
    if not bad:
        _seen_sound.add(types)
        return row
    kinds: dict[str, str] = type(row).__annotations__
    pairs = zip(kinds.items(), row, strict=True)
    return type(row)(*[_instead(kind, value) if name in bad else value for (name, kind), value in pairs])


def unsound(row: tuple[Any, ...]) -> list[str]:
    """The names of the columns that hold another type than theirs."""
    kinds: dict[str, str] = type(row).__annotations__
    return [name for (name, kind), value in zip(kinds.items(), row, strict=True) if not _fits(kind, value)]


def _fits(kind: str, value: Any) -> bool:
    name, _, is_optional = kind.partition(" | ")
    return bool(is_optional) if value is None else type(value) in _TYPES[name]


def _instead(kind: str, value: Any) -> Any:
    name, _, is_optional = kind.partition(" | ")
    return None if is_optional else as_text(value) if name == "str" else _INSTEAD[name]
