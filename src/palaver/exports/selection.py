"""What goes into an export, and in which order.

All sessions, or some: then the turns that the chosen ones reach in other sessions come along, and what those reach.
A turn reaches its parent, and for every message it lists the turn in which that message was written. A fork reaches the
session and the turn it was forked from, and a session that is reached the turn that its preview was taken from.
Sessions are ordered so that each comes after those whose turns and messages it stands on.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from ..core import damage, rows
from ..core.upkeep import records
from ..db.engine import Tx
from ..db.queries import Q
from ..errors import SessionNotFound

_PAGE = 5_000


class Chosen(NamedTuple):
    """One group to be. `reached`: not chosen, but needed by one that was; only these turns of it."""

    session_id: str
    turns: list[str]
    reached: bool


class Homes:
    """The turns of each session, in one pass over all turns: no index finds them. 31 bytes a turn."""

    def __init__(self, tx: Tx, wanted: Container[str] | None) -> None:
        self._joined: dict[str, bytearray] = {}
        after = ""
        while page := records.turn_homes.all(tx, after=after, limit=_PAGE):
            for turn_id, session_id in page:
                if wanted is None or session_id in wanted:
                    self._joined.setdefault(session_id, bytearray()).extend(turn_id.encode() + b"\n")
            after = page[-1].id

    def turns_of(self, session_id: str) -> list[str]:
        return self._joined.get(session_id, b"").decode().split("\n")[:-1]


class Selection:
    """The groups of an export, in order; and whether a turn is in it."""

    def __init__(self, tx: Tx, chosen: Iterable[str] | None) -> None:
        self._lineage = dict(_lineage(tx))
        self._whole = self._lineage.keys() if chosen is None else set(chosen)
        for session_id in sorted(set(self._whole) - self._lineage.keys()):
            raise SessionNotFound(session_id)
        self._homes = Homes(tx, None if chosen is None else self._whole)
        self._reached: dict[str, set[str]] = {}
        self._needs: dict[str, set[str]] = {}
        self._new: list[str] = []  # sessions and turns that were reached, and are yet to be followed
        self._queue: list[tuple[str, str]] = []
        if chosen is None:
            self._read_edges(tx)
        else:
            self._walk(tx)

    def __iter__(self) -> Iterator[Chosen]:
        sessions = [*self._whole, *self._reached]
        for session_id in in_order(sessions, self._all_needs(sessions)):
            if session_id in self._reached:
                yield Chosen(session_id, sorted(self._reached[session_id]), True)
            else:
                yield Chosen(session_id, self._homes.turns_of(session_id), False)

    def has_turn(self, turn_id: str, home: str) -> bool:
        return home in self._whole or turn_id in self._reached.get(home, ())

    # ------------------------------------------------------------ what needs what

    def _need(self, session_id: str, other: str) -> None:
        if other != session_id:
            self._needs.setdefault(session_id, set()).add(other)

    def _all_needs(self, sessions: list[str]) -> dict[str, set[str]]:
        """Lineage counts too: a fork comes after the session it came from."""
        present = set(sessions)
        needs = {session: {other for other in others if other in present} for session, others in self._needs.items()}
        for session_id in sessions:
            origin = self._lineage.get(session_id)
            if origin in present:
                needs.setdefault(session_id, set()).add(origin)
        return needs

    def _read_edges(self, tx: Tx) -> None:
        for query in (Q.export_turn_edges, Q.export_message_edges, Q.export_reflog_edges):
            for session_id, other in tx.all(query):
                self._need(session_id, other)

    # ------------------------------------------------------------ what the chosen ones reach

    def _walk(self, tx: Tx) -> None:
        for session_id in sorted(self._whole):
            self._follow_origin(tx, session_id)
            for turn_id, home in records.turns_stood_on.all(tx, session=session_id):
                self._reach(session_id, turn_id, home)
            for turn_id in self._homes.turns_of(session_id):
                self._follow(tx, turn_id, session_id)
        while self._queue or self._new:
            if self._new:
                self._follow_session(tx, self._new.pop())
            else:
                self._follow(tx, *self._queue.pop())

    def _follow(self, tx: Tx, turn_id: str, home: str) -> None:
        for parent, its_home in records.parents.all(tx, turn=turn_id):
            self._reach(home, parent, its_home)
        for message_id, its_home in records.listed_messages.all(tx, turn=turn_id):
            self._need(home, its_home)
            self._follow_message(tx, message_id, its_home)

    def _follow_message(self, tx: Tx, message_id: str, home: str) -> None:
        if home not in self._whole:
            for (first,) in tx.all(Q.export_first_turn, message=message_id, home=home):
                self._reach(home, first, home)

    def _follow_origin(self, tx: Tx, session_id: str) -> None:
        head = rows.head.one(tx, session=session_id)
        if head is None or head.relation != "fork" or head.origin_id is None or head.origin_id not in self._lineage:
            return
        self._reach_session(head.origin_id)
        if head.origin_turn is not None:
            for (home,) in tx.all(Q.export_home_of, turn=head.origin_turn):
                self._reach(session_id, head.origin_turn, home)

    def _reach(self, session_id: str, turn_id: str, home: str) -> None:
        if home not in self._lineage:  # another program removed the session's row
            return
        self._need(session_id, home)
        self._reach_session(home)
        if not self.has_turn(turn_id, home):
            self._reached[home].add(turn_id)
            self._queue.append((turn_id, home))

    def _reach_session(self, session_id: str) -> None:
        if session_id not in self._whole and session_id not in self._reached:
            self._reached[session_id] = set()
            self._new.append(session_id)

    def _follow_session(self, tx: Tx, session_id: str) -> None:
        self._follow_origin(tx, session_id)
        for first in _first_words(tx, session_id):
            self._follow_message(tx, first, session_id)


def _lineage(tx: Tx) -> Iterator[tuple[str, str | None]]:
    after = ""
    while page := records.lineage.all(tx, after=after, limit=_PAGE):
        yield from page
        after = page[-1].id


def _first_words(tx: Tx, session_id: str) -> list[str]:
    """The message that a session's preview is taken from, if it has one."""
    for message_id, data in tx.all(Q.first_words, session=session_id):
        part = damage.parsed(data)
        words = part.get("text") if isinstance(part, dict) else None
        if isinstance(words, str) and words.strip():
            return [message_id]
    return []


def in_order(sessions: list[str], needs: dict[str, set[str]]) -> list[str]:
    """By the longest way to a session that needs nothing, then by id. A cycle (another program's) is cut."""
    depth: dict[str, int] = {}
    for start in sorted(sessions):
        stack, on_way = [start], {start}
        while stack:
            at = stack[-1]
            deeper = next((n for n in sorted(needs.get(at, ())) if n not in depth and n not in on_way), None)
            if deeper is not None and at not in depth:
                stack.append(deeper)
                on_way.add(deeper)
                continue
            depth.setdefault(at, 1 + max((depth.get(n, 0) for n in needs.get(at, ())), default=0))
            on_way.discard(stack.pop())
    return sorted(sessions, key=lambda session_id: (depth[session_id], session_id))
