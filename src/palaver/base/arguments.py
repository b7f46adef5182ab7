"""What a caller gave, looked at where it is given: a value that a later statement could choke on is refused by name.

Each function answers the value, or raises a BadValue that says what would do. None is let through where it means
something (no revision expected, no deadline).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import BadValue

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from typing import Any

LARGEST = 2**63 - 1  # what a column of either engine holds
LONGEST = 1e9  # seconds, some thirty years: a lock, a thread and the clock can all be told to wait so long


def shown(value: object) -> str:
    """A value as it is quoted in a sentence: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # nested deeper than the stack, a number of too many digits: its type says enough
        return f"this {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}…"


def text(name: str, value: Any) -> str:
    """A text to look something up by. Which texts may be stored is for `canonical.check_column` to say."""
    if not isinstance(value, str):
        raise BadValue(f"{name} is text, not {type(value).__name__}")
    return value


def text_or_none(name: str, value: Any) -> str | None:
    return None if value is None else text(name, value)


def whole(name: str, value: Any, *, least: int = 0, most: int = LARGEST) -> int:
    """A whole number that a column can be compared with."""
    if type(value) is not int or not least <= value <= most:
        raise BadValue(f"{name} is a whole number from {least:,} to {most:,}, not {shown(value)}")
    return value


def revision(value: Any) -> int | None:
    """What `expected` may be. One that no head ever had is a race that is lost, as any other."""
    if value is None or (type(value) is int and abs(value) <= LARGEST):
        return value
    raise BadValue(f"expected is the revision you read, a whole number, not {shown(value)}")


def number(name: str, value: Any, *, least: float = 0) -> float:
    """A number of something: not a flag, not NaN, not less or more than that."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= LONGEST:
        raise BadValue(f"{name} is a number from {least:g} to {LONGEST:,.0f}, not {shown(value)}")
    return value


def seconds(name: str, value: Any) -> float | None:
    """How long to wait; None: as long as it takes."""
    return None if value is None else number(f"{name} (in seconds)", value)


def flag(name: str, value: Any) -> bool:
    if type(value) is not bool:
        raise BadValue(f"{name} is true or false, not {shown(value)}")
    return value


def function(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise BadValue(f"{name} is a function to be called, or None, not {type(value).__name__}")
    return value


def options(verb: str, given: Iterable[str], known: Iterable[str]) -> None:
    """A name that a verb does not know is a slip like any other misspelt argument: a TypeError."""
    unknown = sorted(set(given).difference(known))
    if unknown:
        raise TypeError(f"{verb} has no option {unknown[0]!r}; there are {', '.join(sorted(known))}")


def several(name: str, value: Any) -> Iterable[Any]:
    """What can be gone through, one by one; a text can, but is not meant."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise BadValue(f"{name} is a list of them, not {type(value).__name__}")
    return value


def binary(name: str, file: Any, verb: str) -> Any:
    """A file of bytes, open for `read` or `write`."""
    if not callable(getattr(file, verb, None)) or hasattr(file, "encoding"):
        raise BadValue(f"{name} is a file of bytes: open it with mode {verb[0]}b")
    return file


def database(value: Any) -> Any:
    """The `db` of a store, which the functions of `exports` take."""
    if not hasattr(value, "append_all"):
        raise BadValue(f"db is the `db` of a store that is open (store.db), not {shown(value)}")
    return value
