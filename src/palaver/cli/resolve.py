"""What a name means: sessions go by id, beginning or end of an id, own id, alias or title; `@` is the latest.

A place is a turn of a session: `NAME~2` is two turns back from its head (`NAME~` one), `NAME@{4}` is where its head was
at revision 4, as `palaver log` prints it, and `NAME@{4}~2` two turns before that. Turns and messages are named by any
end of their id that is clear. A name that fits nothing, or more than one thing, is answered with what it could have
meant.

Titles are often written by a model, so none may stand before what a person was shown: `@`, alone or with a place, is
always the latest session; a whole id is its session; then come places, and only then aliases and titles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from palaver import BadValue, MessageNotFound, Session, SessionInfo, SessionNotFound, Store, TurnInfo, TurnNotFound

from .exits import UNKNOWN, Stop
from .ui.format import count, short

LATEST = "@"
_PLACE = re.compile(r"(.*?)(?:@\{(\d{1,18})\})?(?:@?~(\d{0,9}))?", re.DOTALL)


class Place(NamedTuple):
    """A session's name, and the way from its head: to a revision, and so many turns back."""

    name: str
    revision: int | None
    back: int


class Target(NamedTuple):
    """A session, and the turn on its path that was meant; None: its head and what follows."""

    session: Session
    turn: TurnInfo | None


# ---------------------------------------------------------------- sessions


def session(store: Store, name: str) -> Session:
    found = list(store.sessions.list(limit=1).sessions) if name == LATEST else match(store, name)
    if not found or place_in(store, name) is not None:
        from .near import unknown_session

        raise Stop(UNKNOWN, unknown_session(store, name), "SessionNotFound")
    return _only(store, name, found)


def deleted_session(store: Store, name: str) -> Session:
    """One that may be brought back: `@` is the one that was deleted last. A live one only if no deleted one fits."""
    found = store.sessions.list(deleted=True, limit=1).sessions if name == LATEST else match(store, name, deleted=True)
    found = [one for one in found if one.deleted_at is not None] or found
    if not found:
        raise Stop(
            UNKNOWN, f"no deleted session is named {name!r}; `palaver rm --list` has those there are", "SessionNotFound"
        )
    return _only(store, name, found)


def _only(store: Store, name: str, found: list[SessionInfo]) -> Session:
    if len(found) > 1:
        from .near import listed

        raise Stop(
            UNKNOWN, f"{name!r} names more than one session: {listed(found)}; a whole id is clear", "AmbiguousName"
        )
    [one] = found
    return store.sessions.get(one.id, deleted=one.deleted_at is not None)


def match(store: Store, name: str, *, deleted: bool = False) -> list[SessionInfo]:
    """What a name may mean. A name that no column can hold means nothing."""
    try:
        return store.sessions.match(name, deleted=deleted) if name else []
    except BadValue:
        return []


# ---------------------------------------------------------------- places


def target(store: Store, name: str) -> Target:
    """A session, or a turn of it."""
    place = place_in(store, name)
    if place is None:
        return Target(session(store, name), None)
    found = session(store, place.name)
    return Target(found, turn_at(found, place))


def place_in(store: Store, name: str) -> Place | None:
    """The place that is meant; None if it is no place, or an id that looks like one, or if nothing has the name that
    it would be a place of: then it may be a title."""
    place = place_of(name)
    if place is None or place.name == LATEST:
        return place
    if is_id(store, name):
        return None
    return place if match(store, place.name) or not match(store, name) else None


def is_id(store: Store, name: str) -> bool:
    try:
        store.sessions.get(name, deleted=True)
    except (SessionNotFound, BadValue):
        return False
    return True


def place_of(name: str) -> Place | None:
    """`NAME@{4}~2` taken apart; None if nothing but a name is there."""
    found = _PLACE.fullmatch(name)
    session, revision, back = found.groups() if found else (name, None, None)
    if revision is None and back is None:
        return None
    return Place(session or LATEST, None if revision is None else int(revision), 0 if back is None else int(back or 1))


def turn_at(session: Session, place: Place) -> TurnInfo:
    path = session.path() if place.revision is None else _path_at(session, place.revision)
    if place.back >= len(path):
        where = "its path" if place.revision is None else f"the path to @{{{place.revision}}}"
        held = f"{where} has {count(len(path), 'turn')}"
        raise Stop(UNKNOWN, f"session {short(session.id)} has no turn ~{place.back}: {held}", "TurnNotFound")
    return path[-1 - place.back]


def _path_at(session: Session, revision: int) -> list[TurnInfo]:
    """The turns up to where the head was."""
    lines = session.history()
    moved = [line for line in lines if line.revision == revision]
    name = short(session.id)
    if not moved:
        newest = lines[-1].revision if lines else 0
        said = f"session {name} was never at @{{{revision}}}; `palaver log {name}` goes up to @{{{newest}}}"
        raise Stop(UNKNOWN, said, "TurnNotFound")
    turns, at = {turn.id: turn for turn in session.tree()}, moved[-1].turn_id
    path: list[TurnInfo] = []
    while (turn := turns.pop(at or "", None)) is not None:  # once each: another program may have made a circle
        path.append(turn)
        at = turn.parent_id
    if not path:
        raise Stop(UNKNOWN, f"session {name} held nothing at @{{{revision}}}", "TurnNotFound")
    return path[::-1]


def turn_or_message(session: Session, name: str) -> str:
    """The id of the turn or message that `--at` and `--to` name: an id, an end of one, `~2` or `@{4}`."""
    place = place_of(name)
    if place is not None and place.name == LATEST:
        return turn_at(session, place).id
    turns = [turn.id for turn in session.tree()]
    messages = [message.client_id or message.id for message in session.transcript()]
    if name in turns or name in messages:
        return name
    found = [one for one in dict.fromkeys([*turns, *messages]) if fits(one, name)]
    if len(found) == 1:
        [one] = found
        return one
    if found:
        listed = ", ".join(found[:5])
        raise Stop(UNKNOWN, f"{name!r} names more than one turn or message: {listed}", "AmbiguousName")
    return name  # perhaps of another branch: the library knows


def fits(some_id: str, name: str) -> bool:
    """Whether a piece of an id is enough for it: its beginning, with or without what all of its kind begin with, or,
    from four characters on, its end."""
    if not name:
        return False
    return some_id.startswith(name) or some_id[4:].startswith(name) or (len(name) >= 4 and some_id.endswith(name))


@contextmanager
def saying_what_was_looked_for(session: Session, name: str | None) -> Iterator[None]:
    """The library looks for a turn or for a message; whoever typed the name meant either."""
    try:
        yield
    except (TurnNotFound, MessageNotFound) as error:
        if name is None or error.wanted != name:
            raise
        where = short(session.id)
        said = f"neither a turn nor a message of session {where} is named {name!r}"
        looked = f"`palaver tree {where}` has the turns, `palaver show {where} --detail` the messages"
        raise Stop(UNKNOWN, f"{said}; {looked}", type(error).__name__) from None
