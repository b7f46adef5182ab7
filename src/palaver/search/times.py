"""The times of `before:` and `after:`: a date, a number of ms since 1970, or how long ago. Dates are of UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ..errors import BadValue

_AGO = re.compile(r"([0-9]{1,9})([mhdw])")
_UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_MS = re.compile(r"[0-9]{1,16}")
_MONTH = re.compile(r"[0-9]{4}(?:-[0-9]{2})?")
_DAY = re.compile(r"[0-9]{8}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_time(name: str, typed: str, *, now: int) -> int:
    """A point in time in ms; a number of four digits is a year, one of eight a day."""
    ago = _AGO.fullmatch(typed)
    if ago:
        number, unit = ago.groups()
        return now - int(number) * _UNIT_MS[unit]
    if _MS.fullmatch(typed) and not _MONTH.fullmatch(typed) and not _DAY.fullmatch(typed):
        return int(typed)
    return _date(name, typed)


def _date(name: str, typed: str) -> int:
    text = typed + "-01-01"[len(typed) - 4 :] if _MONTH.fullmatch(typed) else typed
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise BadValue(
            f"{name}:{typed[:40]} is no time; write a date (2025-03-31), ms since 1970, or how long ago (7d, 24h)"
        ) from None
    return (when.replace(tzinfo=when.tzinfo or UTC) - _EPOCH) // timedelta(milliseconds=1)
