"""`palaver lineage`: a session below those it came from, and above those that came from it."""

from __future__ import annotations

from palaver import SessionInfo, SessionNotFound, Store
from palaver.core import read
from palaver.core.read.lineage import Relative

from ..command import Call, command, session_argument
from ..ui.format import age, short
from ..ui.pager import paged
from ..ui.screen import Screen
from ..values import sessions_json

_DEEPEST = 20  # levels that are indented; a line below says how deep it is

Placed = tuple[Relative, SessionInfo]


@command(
    "lineage",
    examples=["palaver lineage @", "palaver lineage 'The build' --json"],
    keys={
        "session": "its id",
        "tip": "the id of the session in which it goes on; its own, if nothing continues it",
        "sessions[]": "Session, each before those that came from it, and:",
        "  origin_id": "the session it came from, or null",
        "  level": "how many it came from",
    },
)
@session_argument()
def lineage(call: Call, session: str) -> None:
    """Draw where a session came from, and what came from it.

    The eldest stands first; below each, indented, is what came from it. Each line: the end of the id (a pipe gets it
    whole), when something was last said, how it came from the one above (fork, spawn, continue, import), and the title
    or the first words. * is the session itself. Deleted and archived ones are there, too, and marked."""
    store, found = call.session(session, readonly=True)
    placed = _placed(store, found.id)
    if call.json:
        values = sessions_json(store, [info for _, info in placed])
        told = [
            {**value, "origin_id": relative.origin_id, "level": relative.level}
            for value, (relative, _) in zip(values, placed, strict=True)
        ]
        call.screen.json({"session": found.id, "tip": found.tip().id, "sessions": told})
        return
    with paged(call.screen) as screen:
        for relative, info in placed:
            _print(screen, relative, info, is_it=info.id == found.id)


def _placed(store: Store, session_id: str) -> list[Placed]:
    """All of them, but for those whose row another program took away."""
    placed: list[Placed] = []
    with store.db.read() as tx:
        for relative in read.lineage.tree(tx, session_id):
            try:
                placed.append((relative, read.sessions.info(tx, relative.session_id)))
            except SessionNotFound:
                continue
    return placed


def _print(screen: Screen, relative: Relative, info: SessionInfo, *, is_it: bool) -> None:
    depth = f"({relative.level}) " if relative.level > _DEEPEST else ""
    gone = info.deleted_at is not None
    screen.line(
        ("* " if is_it else "  ", "bold green"),
        "  " * min(relative.level, _DEEPEST) + depth,
        (screen.sanitized(short(info.id) if screen.tty else info.id), "yellow"),
        (f" {age(info.last_message_at or info.created_at)} {screen.sanitized(info.relation)} ", "dim"),
        ("[deleted] " if gone else "[archived] " if info.archived_at else "", "dim"),
        (screen.sanitized(info.title or info.preview or ""), "dim" if gone else "bold"),
    )
