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


def thousands(number: int) -> str:
    """A large number in few characters: 853, 18.8k, 2.4M."""
    if number < 1_000:
        return str(number)
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if number < 999.5 * size or unit == "G":
            break
    return f"{number / size:.3g}{unit}"


def dollars(cost: float) -> str:
    """To the cent; what is less than a dollar, finer."""
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}" if cost >= 0.0001 else f"${cost:.6f}"


def size(number: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if number < 1024:
            return f"{number} {unit}"
        number //= 1024
    return f"{number} GB"


def short(some_id: str) -> str:
    """The end of an id, which is random and so soon unique. Short foreign ids stay whole."""
    return some_id if len(some_id) <= _LONGEST_WHOLE else some_id[-_SHOWN:]
