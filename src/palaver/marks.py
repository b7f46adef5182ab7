"""Where a caller means: a turn, a message, a line or a time, given by its id or number, or as what was read."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from .base import arguments
from .core import read
from .core.read.transcript import Message
from .errors import BadValue
from .model import Line, TurnInfo

if TYPE_CHECKING:
    from .core.read.windows import Asked


def asked(before: Any, after: Any, limit: int | None) -> Asked:
    """Which part of a list a caller wants."""
    if before is None and after is None and limit is None:
        return read.windows.ALL
    return read.windows.asked(_mark(before), _mark(after), limit)


def _mark(place: Any) -> str | int | None:
    """An id, a cursor or a number."""
    if isinstance(place, Message):
        return place.id
    return place.seq if isinstance(place, Line) else place if type(place) is int else name_of(place)


def name_of(place: Any) -> str | None:
    """The id of a turn or a message."""
    if place is None or isinstance(place, str):
        return place
    from .turn import Turn  # who gives an id needs no more

    if isinstance(place, TurnInfo | Turn):
        return place.id
    if isinstance(place, dict) and isinstance(place.get("id"), str):
        return str(place["id"])
    raise BadValue(f"a place is the id of a turn or a message, not {type(place).__name__}")


def stamp(when: Any) -> int:
    """A time in epoch milliseconds."""
    if not isinstance(when, datetime):
        if type(when) is not int or abs(when) > arguments.LARGEST:
            raise BadValue(
                f"a time is a datetime, or epoch milliseconds as a whole number, not {arguments.shown(when)}"
            )
        return when
    try:
        return round(when.timestamp() * 1000)
    except (OverflowError, ValueError):  # a time without a zone, at the first or last day there is
        raise BadValue(f"{when} is no time that this machine knows; give it with a time zone") from None
