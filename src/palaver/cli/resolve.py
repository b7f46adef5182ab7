"""What a name means: sessions go by id, beginning or end of an id, own id, alias or title; `@` is the latest.

`NAME~2` is two turns back from its head (`NAME~` one). Turns and messages are named the same way, by any end of their
id that is clear. A name that fits nothing, or more than one thing, is answered with what it could have meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from palaver import BadValue, Session, SessionInfo, Store, TurnInfo

from .exits import UNKNOWN, Stop
from .ui.format import short

LATEST = "@"
_BACK = re.compile(r"(.*?)@?~(\d{0,9})", re.DOTALL)


class Target(NamedTuple):
    """A session, and the turn on its path that was meant; None: its head and what follows."""

    session: Session
    turn: TurnInfo | None


# ---------------------------------------------------------------- sessions


def session(store: Store, name: str, *, deleted: bool = False) -> Session:
    found = _latest(store) if name == LATEST else match(store, name, deleted=deleted)
    if len(found) == 1:
        return store.sessions.get(found[0].id, deleted=deleted)
    if found:
        raise Stop(UNKNOWN, f"{name!r} names more than one session: {_listed(found)}", "AmbiguousName")
    raise Stop(UNKNOWN, _unknown(store, name), "SessionNotFound")


def match(store: Store, name: str, *, deleted: bool = False) -> list[SessionInfo]:
    """What a name may mean. A name that no column can hold means nothing."""
    try:
        return store.sessions.match(name, deleted=deleted) if name else []
    except BadValue:
        return []


def target(store: Store, name: str) -> Target:
    """A session, or a turn back from its head."""
    if not _BACK.fullmatch(name) or match(store, name):
        return Target(session(store, name), None)
    base, back = split(name)
    found = session(store, base)
    return Target(found, turn_back(found, back))


def split(name: str) -> tuple[str, int]:
    """`NAME~2` as its two halves."""
    match = _BACK.fullmatch(name)
    assert match
    return match[1] or LATEST, int(match[2] or 1)


def turn_back(session: Session, back: int) -> TurnInfo:
    path = session.path()
    if back >= len(path):
        held = f"its path has {len(path)} turn{'' if len(path) == 1 else 's'}"
        raise Stop(UNKNOWN, f"session {short(session.id)} has no turn ~{back}: {held}", "TurnNotFound")
    return path[-1 - back]


def _latest(store: Store) -> list[SessionInfo]:
    return list(store.sessions.list(limit=1).sessions)


def _unknown(store: Store, name: str) -> str:
    if name == LATEST:
        return "there is no session in this store yet"
    recent = store.sessions.list(limit=200, archived=True).sessions
    near = [one for one in recent if name and name.lower() in (one.title or "").lower()]
    if near:
        return f"no session is named {name!r}; there is {_listed(near)}"
    recent = recent[:3]
    return f"no session is named {name!r}; " + (f"the latest: {_listed(recent)}" if recent else "the store is empty")


def _listed(found: Iterable[SessionInfo]) -> str:
    several = list(found)
    shown = [f"{one.id} ({_label(one)})" for one in several[:5]]
    return ", ".join(shown) + (", …" if len(several) > len(shown) else "")


def _label(info: SessionInfo) -> str:
    label = info.title or info.preview or info.agent
    return label if len(label) <= 40 else label[:39] + "…"


# ---------------------------------------------------------------- turns and messages


def turn_or_message(session: Session, name: str) -> str:
    """The id of the turn or message that `--at` and `--to` name: an id, an end of one, or `~2`."""
    base, back = split(name) if _BACK.fullmatch(name) else ("", 0)
    if base == LATEST:
        return turn_back(session, back).id
    turns = [turn.id for turn in session.tree()]
    messages = [message.client_id or message.id for message in session.transcript()]
    if name in turns or name in messages:
        return name
    found = [one for one in [*turns, *messages] if _fits(one, name)]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(found[:5])
        raise Stop(UNKNOWN, f"{name!r} names more than one turn or message: {listed}", "AmbiguousName")
    return name  # perhaps of another branch: the library knows


def _fits(some_id: str, name: str) -> bool:
    return some_id.startswith(name) or some_id[4:].startswith(name) or (len(name) >= 4 and some_id.endswith(name))
