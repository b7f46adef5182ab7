"""`palaver rm --older-than`: sessions in which nothing was said for long. They are listed; only --yes deletes them.

"Older than 90d" is as the words say: what was said exactly 90 days ago is not older. Each page of the list is read
right before its sessions are deleted, so whoever begins to talk meanwhile is hardly ever late.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from palaver import Session, SessionInfo, SessionNotFound, Store
from palaver.base.clock import now_ms

from .command import Call
from .ui.format import count, moment, short
from .ui.progress import DeletingProgress
from .ui.screen import say_aside
from .values import session_json, sessions_json


class Idle(NamedTuple):
    """Which are meant: by how long nothing was said (ms), and of these only some."""

    older_than: int
    ended: bool
    source: str | None
    archived: bool


def preview(call: Call, which: Idle) -> None:
    """What --yes would delete."""
    store = call.store(readonly=True)
    found = list(_found(call, store, which))
    if call.json:
        call.screen.json({"sessions": sessions_json(store, found)})
    else:
        for one in found:
            _print(call, one)
    said = f"nothing was deleted; --yes deletes {'it' if len(found) == 1 else f'these {len(found):,}'}"
    say_aside(said if found else "nothing was deleted; no such session is that old", json=call.json)


def delete(call: Call, which: Idle) -> None:
    """If one refuses, it is still said what was done before."""
    store = call.store()
    done: list[Session] = []
    try:
        with DeletingProgress() as progress:
            for one in _deleted(store, _found(call, store, which)):
                done.append(one)
                progress(len(done))
    finally:
        value = {"sessions": [session_json(one) for one in done]} if call.json else {}
        call.done(value, f"deleted {count(len(done), 'session')}")


def _deleted(store: Store, found: Iterator[SessionInfo]) -> Iterator[Session]:
    for info in found:
        session = store.sessions.get(info.id, deleted=True)
        try:
            session.delete()
        except SessionNotFound:  # somebody else deleted it meanwhile
            continue
        yield session


def _found(call: Call, store: Store, which: Idle) -> Iterator[SessionInfo]:
    """By creation: deleting one moves no other."""
    listed = store.sessions.list(
        idle_since=now_ms() - which.older_than,
        ended=which.ended,
        archived=which.archived,
        source=which.source,
        order="created",
    )
    for info in listed:
        if info.live and _is_written(store, info.id):
            say_aside(f"{short(info.id)} is being written; it is left alone", json=call.json)
        else:
            yield info


def _is_written(store: Store, session_id: str) -> bool:
    """Whether whoever writes in it is alive: what a dead writer left is sealed by the next who writes."""
    live = {turn.id for turn in store.sessions.get(session_id).live()}
    return not live <= set(store.abandoned())


def _print(call: Call, info: SessionInfo) -> None:
    screen = call.screen
    shown = short(info.id) if screen.tty else info.id
    last = moment(info.last_message_at or info.created_at)
    label = info.title or info.preview or info.agent
    screen.line((screen.sanitized(shown), "yellow"), (f" {last} ", "dim"), (screen.sanitized(label), "bold"))
