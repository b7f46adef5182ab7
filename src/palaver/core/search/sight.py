"""Who sees a message: it is on the path of a live session, or in an open turn on it.

Mostly that is the session it was written in, and the stamps of its row say it. What is hidden there, or whose session
was deleted, may be on the path of a fork: then it is found under the fork's name. Nothing else is seen, unless hidden
content is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from ...db.engine import Tx
from .. import damage, metadata, rows
from ..read import jumps, lineage
from . import records
from .ahead import Ahead
from .records import PlaceRow, SessionRow


class Seen:
    """A message as a session sees it."""

    def __init__(self, session: Session, find: Callable[[], PlaceRow | None], *, is_hidden: bool = False) -> None:
        self.session, self.is_hidden = session, is_hidden
        self._find = find

    @cached_property
    def turn(self) -> PlaceRow | None:
        """The one that lists it; None: another program wrote it."""
        return self._find()


class Session:
    """What a search needs of a session, each fact read when it is asked for."""

    def __init__(self, tx: Tx, row: SessionRow) -> None:
        self._tx = tx
        self.id, self.agent, self.workspace = (
            row.id,
            damage.as_text(row.agent),
            damage.as_text(row.workspace_root or ""),
        )
        self.title, self.head = row.title, row.turn_id
        self.is_deleted, self.is_archived = row.deleted_at is not None, row.archived_at is not None

    @cached_property
    def facts(self) -> dict[str, str]:
        return {row.name: row.value for row in rows.facts_of_session.all(self._tx, session=self.id)}

    @cached_property
    def open_turns(self) -> set[str]:
        """Those that are being written on its head."""
        return {row.id for row in rows.tail_turns.all(self._tx, session=self.id)}

    @cached_property
    def relatives(self) -> list[str]:
        """Sessions that may have turns of this one on their path: its forks, what it was forked from, and the forks of
        those, also where one between them was deleted."""
        found = dict.fromkeys([self.id, *lineage.ancestors(self._tx, self.id)])
        queue = list(found)
        for name in queue:
            forks = (row.session_id for row in records.forks_to_show.all(self._tx, session=name))
            new = [fork for fork in forks if fork not in found]
            found.update(dict.fromkeys(new))
            queue += new
        return list(found)[1:]


class Sight:
    """Of one search. `only`: these sessions are asked for, and what they see is found under their names."""

    def __init__(self, tx: Tx, ahead: Ahead, *, archived: bool, hidden: bool, only: set[str] | None) -> None:
        self._tx, self._ahead = tx, ahead
        self._archived, self._hidden, self._only = archived, hidden, only
        self._sessions: dict[str, Session | None] = {}
        self._ways: dict[tuple[str, str], bool] = {}

    def session(self, session_id: str) -> Session | None:
        if session_id not in self._sessions:
            row = self._ahead.session(session_id)
            self._sessions[session_id] = None if row is None else Session(self._tx, row)
        return self._sessions[session_id]

    def of(self, message_id: str, session_id: str, stored_metadata: Any) -> Seen | None:
        """None: this search does not see it."""
        home = self.session(session_id)
        if home is None:
            return None
        text = damage.as_json(stored_metadata)
        if '_at"' not in text and self._sees(home):  # mostly: no stamp hides it
            return Seen(home, lambda: self._place(home, self._places(message_id)))
        places = self._places(message_id)
        is_hidden = _is_out_of_sight(text, is_ours=bool(places))
        if not is_hidden and self._sees(home):
            return Seen(home, lambda: self._place(home, places))
        return self._elsewhere(home, places) or self._asked_for(home, places, is_hidden)

    def _places(self, message_id: str) -> list[PlaceRow]:
        return self._ahead.places(message_id)

    def _elsewhere(self, home: Session, places: list[PlaceRow]) -> Seen | None:
        for name in self._others(home):
            other = self.session(name)
            place = self._on_path(other, places) if other is not None and self._sees(other) else None
            if other is not None and place is not None:
                return Seen(other, partial(_same, place))
        return None

    def _asked_for(self, home: Session, places: list[PlaceRow], is_hidden: bool) -> Seen | None:
        if self._hidden and is_hidden and self._sees(home):
            return Seen(home, lambda: places[0] if places else None, is_hidden=True)
        return None

    def _sees(self, session: Session) -> bool:
        if session.is_deleted or (session.is_archived and not self._archived):
            return False
        return self._only is None or session.id in self._only

    def _others(self, home: Session) -> list[str]:
        return home.relatives if self._only is None else sorted(self._only - {home.id})

    def _place(self, session: Session, places: list[PlaceRow]) -> PlaceRow | None:
        """Mostly one turn lists a message; of several, the one that is on the path, or open."""
        if len(places) <= 1:
            return places[0] if places else None
        return self._on_path(session, places) or places[-1]

    def _on_path(self, session: Session, places: list[PlaceRow]) -> PlaceRow | None:
        for place in places:
            if place.sealed_at is None:
                is_seen = place.turn_id in session.open_turns
            else:
                is_seen = session.head is not None and self._is_way(place, session.head)
            if is_seen:
                return place
        return None

    def _is_way(self, place: PlaceRow, head: str) -> bool:
        known = self._ways.get((place.turn_id, head))
        if known is None:
            step = jumps.back(self._tx, head, above=place.depth - 1)
            known = self._ways[place.turn_id, head] = step is not None and step.id == place.turn_id
        return known


def _same(place: PlaceRow) -> PlaceRow:
    return place


def _is_out_of_sight(text: str, *, is_ours: bool) -> bool:
    """Our stamps stand at the end of a row's metadata; another program writes them wherever it likes."""
    if not is_ours:
        return metadata.is_out_of_sight(text)
    return metadata.is_hidden(text) or metadata.is_queued(text)
