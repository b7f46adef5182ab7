"""Where a page of hits ended, as a text: what follows is asked for with it.

By rank it is a score and a number, which hold while the index stands; newest first it is the time and the ids of the
last hit, which always hold (and the number to walk on from, while the index stands).
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, NamedTuple

import msgspec

from ...errors import BadValue

Number = Annotated[int, msgspec.Meta(ge=0, le=2**62)]  # of a document


class Cursor(msgspec.Struct, array_like=True, frozen=True):
    """`score` and `number`: by rank, behind the tail. `at`, `message`, `part`: of the last hit among the newest, or in
    the tail. `below`: the number to walk on from."""

    order: str
    asked: int  # a checksum of what was asked for
    moves: int
    score: float | None = None
    number: Number = 0
    at: int | None = None
    message: str = ""
    part: str = ""
    below: Number | None = None
    sessions: tuple[str, ...] = ()  # that had their hit, where each has one

    @property
    def key(self) -> tuple[int, str, str] | None:
        return None if self.at is None else (self.at, self.message, self.part)


class Asked(NamedTuple):
    """What tells one search from another."""

    order: str
    checksum: int


def encode(cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def decode(text: str, asked: Asked) -> Cursor:
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii", "strict") + b"=" * (-len(text) % 4))
        cursor = msgspec.json.decode(raw, type=Cursor)
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise BadValue(f"{text!r:.60} is no cursor; give the `next` of a page as it is") from None
    if (cursor.order, cursor.asked) != asked:
        raise BadValue("this cursor is of another search; a cursor goes on with the same query and options")
    return cursor
