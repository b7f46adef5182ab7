"""A message as a search names it: `SESSION@MESSAGE`, each by its id or a clear piece of it.

A whole id of a session, and a place in one (`NAME@{4}`), stand before it; an alias or a title that has an @ in it comes
after it, for a person was shown the address. The message may be on the path of the session, open in it, or on another
branch: then it is read on the way to its own turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from palaver import Session, Store, StoredMessage

from . import resolve
from .exits import UNKNOWN, Stop
from .resolve import Target
from .ui.format import short


class Found(NamedTuple):
    """A message among those that are read with it."""

    target: Target
    messages: list[StoredMessage]
    place: int


def find(store: Store, name: str) -> Found | None:
    """The message that is meant; None if the name means none."""
    if name == resolve.LATEST or resolve.place_in(store, name) is not None or resolve.is_id(store, name):
        return None
    splits = [(owner or resolve.LATEST, message) for owner, message in _splits(name) if message]
    called_so = resolve.match(store, name)
    known = [(owner, message) for owner, message in splits if _may_own(store, owner, alone=bool(called_so))]
    for owner, message in known:
        session = resolve.session(store, owner)
        found = _on_path(session, message) or _elsewhere(session, message)
        if found:
            return found
    if not known or called_so:
        return None
    owner, message = known[-1]
    where = short(resolve.session(store, owner).id)
    said = f"session {where} has no message {message!r}; `palaver show {where} --detail` has their ids"
    raise Stop(UNKNOWN, said, "MessageNotFound")


def _may_own(store: Store, owner: str, *, alone: bool) -> bool:
    """Whether it names a session. `alone`: and only one, for the whole may be the name of another."""
    found = resolve.match(store, owner)
    return owner == resolve.LATEST or len(found) == 1 or (bool(found) and not alone)


def _splits(name: str) -> Iterable[tuple[str, str]]:
    """A session's own name, or a message's, may have an @ in it, too."""
    first, _, rest = name.partition("@")
    begin, mark, last = name.rpartition("@")
    return dict.fromkeys([(first, rest), (begin, last)]) if mark else ()


def _on_path(session: Session, name: str) -> Found | None:
    messages = list(session.transcript())
    one = _only(messages, name)
    return Found(Target(session, None), messages, messages.index(one)) if one else None


def _elsewhere(session: Session, name: str) -> Found | None:
    """On another branch: with what leads to it."""
    turns = {turn.id: turn for turn in session.tree()}
    one = _only([message for turn_id in turns for message in session.messages_of(turn_id)], name)
    if one is None or one.turn_id is None:
        return None
    messages = list(session.transcript(one.turn_id))
    place = next(place for place, message in enumerate(messages) if message.id == one.id)
    return Found(Target(session, turns[one.turn_id]), messages, place)


def _only(messages: list[StoredMessage], name: str) -> StoredMessage | None:
    by_id = {message.id: message for message in messages}
    named = {one.id: one for one in by_id.values() if name in (one.id, one.client_id)}
    named = named or {one.id: one for one in by_id.values() if _fits(one, name)}
    if len(named) > 1:
        listed = ", ".join([*named][:5])
        raise Stop(UNKNOWN, f"{name!r} names more than one message: {listed}", "AmbiguousName")
    return next(iter(named.values()), None)


def _fits(message: StoredMessage, name: str) -> bool:
    return resolve.fits(message.id, name) or resolve.fits(message.client_id or "", name)
