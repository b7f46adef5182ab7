"""Numbers, times and ids as a person reads them. Nothing here loads anything."""

from __future__ import annotations

from palaver.base.clock import now_ms

_SHOWN = 6
_LONGEST_WHOLE = 12
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"))


def age(at: int) -> str:
    """How long ago, in one unit: 5m, 3h, 12d."""
    passed = now_ms() - at
    for unit, letter in _UNITS:
        if passed >= unit:
            return f"{passed // unit}{letter}"
    return "now"


def moment(at: int) -> str:
    """A time of the record, in this machine's zone."""
    from datetime import datetime

    try:
        return datetime.fromtimestamp(at / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{at} ms"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(number: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if number < 1024:
            return f"{number} {unit}"
        number //= 1024
    return f"{number} GB"


def short(some_id: str) -> str:
    """The end of an id, which is random and so soon unique. Short foreign ids stay whole."""
    return some_id if len(some_id) <= _LONGEST_WHOLE else some_id[-_SHOWN:]
