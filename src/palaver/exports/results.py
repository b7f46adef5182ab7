"""What an export or an import came to, and what was refused on the way."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..errors import PalaverError

Progress = Callable[[int, int], None]  # sessions and bytes so far


class NotAnExport(PalaverError):
    """The file is not an export that this Palaver can read; nothing was imported."""

    def __init__(self, why: str) -> None:
        super().__init__(f"line 1: {why}; nothing was imported")


class Written(msgspec.Struct, frozen=True):
    """What an export holds. `husks` are sessions that came along because others stand on them."""

    sessions: int
    husks: int
    lines: int
    bytes: int


class Summary(msgspec.Struct, frozen=True):
    """What an import came to: sessions taken in, left alone, refused; and the lines of the file."""

    imported: int
    already_there: int
    refused: int
    lines: int


class Refusal(msgspec.Struct, frozen=True):
    """Something that was not taken in. `session` is None where no session can be named."""

    line: int
    session: str | None
    why: str


class Cut(msgspec.Struct, frozen=True):
    """A session that was taken in with a text cut short, for the store's indexes cannot hold it."""

    session: str
    what: str


class Rejected(Exception):
    """Inside an import: stop with this group, and take back what it wrote."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line
        self.why = why
