"""Read ahead for a page: messages, their parts, where they stand, their sessions, and what turns list, each of many at
once. Who asks for one that was not read ahead has it read then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from operator import attrgetter
from typing import Any, Generic, TypeVar

from ...db.engine import Tx
from ...search.documents import LONGEST
from ..rows import Select
from . import records
from .documents import LARGE, Parts, parts_of_rows
from .records import MessageRow, PlaceRow, SessionRow

R = TypeVar("R", bound=tuple[Any, ...])
_NAMES = [f"id_{letter}" for letter in "abcdefghijklmnopqrstuvwxy"]  # as {those} has them


def in_chunks(ids: Iterable[str]) -> Iterator[dict[str, str | None]]:
    """What to bind for `IN ({those})`, again and again: as many ids as it takes, and NULL for the rest."""
    rest = iter(ids)
    while some := list(islice(rest, len(_NAMES))):
        yield dict(zip_longest(_NAMES, some))


class _Kept(Generic[R]):
    """Rows by the id that they were asked for by, which is one of their columns."""

    def __init__(self, tx: Tx, select: Select[R], column: str, **given: Any) -> None:
        self._tx, self._select, self._given = tx, select, given
        self._asked = attrgetter(column)
        self._rows: dict[str, list[R]] = {}

    def read(self, ids: Iterable[str | None]) -> None:
        new = {each: list[R]() for each in ids if each is not None and each not in self._rows}
        if new:
            for some in in_chunks(new):
                for row in self._select.all(self._tx, **some, **self._given):
                    new[self._asked(row)].append(row)
            self._rows |= new

    def __getitem__(self, each: str) -> list[R]:
        if each not in self._rows:
            self.read([each])
        return self._rows[each]


class Ahead:
    """Of one search."""

    def __init__(self, tx: Tx) -> None:
        self._messages = _Kept(tx, records.messages_to_show, "id")
        self._parts = _Kept(tx, records.parts_of_those, "message_id", most=LARGE, beginning=LONGEST)
        self._sessions = _Kept(tx, records.sessions_to_show, "id")
        self._places = _Kept(tx, records.places_to_show, "message_id")
        self._listed = _Kept(tx, records.refs_of_turns, "turn_id")
        self._sources = _Kept(tx, records.sources_of_sessions, "session_id")
        self._following = _Kept(tx, records.following, "message_id")
        self.read_messages, self.read_parts = self._messages.read, self._parts.read
        self.read_sessions, self.read_sources = self._sessions.read, self._sources.read
        self.read_places, self.read_listed = self._places.read, self._listed.read
        self.read_following = self._following.read

    def message(self, message_id: str) -> MessageRow | None:
        return next(iter(self._messages[message_id]), None)

    def parts(self, message_id: str) -> Parts:
        return parts_of_rows(self._parts[message_id])

    def session(self, session_id: str) -> SessionRow | None:
        return next(iter(self._sessions[session_id]), None)

    def places(self, message_id: str) -> list[PlaceRow]:
        return self._places[message_id]

    def listed(self, turn_id: str) -> list[str]:
        return [row.ref for row in self._listed[turn_id]]

    def source(self, session_id: str) -> str | None:
        return next((row.value for row in self._sources[session_id]), None)

    def following(self, message_id: str) -> str | None:
        return next((row.following for row in self._following[message_id]), None)
