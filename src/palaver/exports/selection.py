"""What goes into an export, and in which order.

All sessions, or some: then the turns that the chosen ones reach in other sessions come along, and what those reach.
A turn reaches its parent, and for every message it lists the turn in which that message was written. Sessions are
ordered so that each comes after those whose turns and messages it stands on.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from ..db.database import Tx
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
        while page := tx.all(Q.export_turn_homes, after=after, limit=_PAGE):
            for turn_id, session_id in page:
                if wanted is None or session_id in wanted:
                    self._joined.setdefault(session_id, bytearray()).extend(turn_id.encode() + b"\n")
            after = page[-1][0]

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
        queue: list[tuple[str, str]] = []
        for session_id in sorted(self._whole):
            for turn_id in self._homes.turns_of(session_id):
                self._follow(tx, turn_id, session_id, queue)
            for turn_id, home in tx.all(Q.export_stood_on, session=session_id):
                self._reach(session_id, turn_id, home, queue)
        while queue:
            self._follow(tx, *queue.pop(), queue)

    def _follow(self, tx: Tx, turn_id: str, home: str, queue: list[tuple[str, str]]) -> None:
        for parent, its_home in tx.all(Q.export_parent, turn=turn_id):
            self._reach(home, parent, its_home, queue)
        for message_id, its_home in tx.all(Q.export_listed, turn=turn_id):
            if its_home in self._whole:
                self._need(home, its_home)
                continue
            for (first,) in tx.all(Q.export_first_turn, message=message_id, home=its_home):
                self._reach(home, first, its_home, queue)

    def _reach(self, session_id: str, turn_id: str, home: str, queue: list[tuple[str, str]]) -> None:
        if home not in self._lineage:  # another program removed the session's row
            return
        self._need(session_id, home)
        if not self.has_turn(turn_id, home):
            self._reached.setdefault(home, set()).add(turn_id)
            queue.append((turn_id, home))


def _lineage(tx: Tx) -> Iterator[tuple[str, str | None]]:
    after = ""
    while page := tx.all(Q.export_lineage, after=after, limit=_PAGE):
        yield from ((row[0], row[1]) for row in page)
        after = page[-1][0]


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
