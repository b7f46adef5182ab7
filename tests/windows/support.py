"""Pages joined: all windows of a list, one after the other, in either direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import palaver

Read = Callable[..., "palaver.Window[Any]"]
LIMITS = range(1, 8)


def forward(read: Read, limit: int) -> list[Any]:
    """From the first one on."""
    page = read(after="", limit=limit)
    assert page.before is None
    found = [*page]
    while page.after is not None:
        assert len(page) == limit
        page = read(after=page.after, limit=limit)
        assert page and page.before is not None
        found += page
    return found


def backward(read: Read, limit: int) -> list[Any]:
    """From the last one back."""
    page = read(limit=limit)
    assert page.after is None
    found = [*page]
    while page.before is not None:
        assert len(page) == limit
        page = read(before=page.before, limit=limit)
        assert page and page.after is not None
        found = [*page, *found]
    return found


def stored(session: palaver.Session) -> Read:
    """The transcript, as what can be compared."""

    def read(**given: Any) -> palaver.Window[Any]:
        page = session.transcript(**given)
        return palaver.Window([(m.id, m.turn_id, m.created_at, m.json()) for m in page], page.before, page.after)

    return read


def parts_of(messages: list[dict[str, Any]], type: str | None = None) -> list[Any]:
    """What `parts` should say of data, from whole messages."""
    found = [(message["id"], part) for message in messages for part in message["parts"]]
    return [each for each in found if type in (None, each[1]["type"])]


def typed(session: palaver.Session, type: str | None) -> Read:
    def read(**given: Any) -> palaver.Window[Any]:
        page = session.parts(type, **given)
        return palaver.Window([(part["message_id"], part["data"]) for part in page], page.before, page.after)

    return read


def lists(session: palaver.Session) -> dict[str, tuple[Read, list[Any]]]:
    """Each list of a session that has windows, and what all of it is."""
    messages = session.messages()
    return {
        "messages": (session.messages, messages),
        "transcript": (stored(session), stored(session)()),
        "path": (session.path, session.path()),
        "tree": (session.tree, session.tree()),
        "strays": (session.strays, session.strays()),
        "history": (session.history, session.history()),
        "parts": (typed(session, None), parts_of(messages)),
        "texts": (typed(session, "text"), parts_of(messages, "text")),
        "tools": (typed(session, "tool-run"), parts_of(messages, "tool-run")),
    }


def agree(session: palaver.Session) -> None:
    """Pages joined are the whole list, whatever the limit."""
    for name, (read, whole) in lists(session).items():
        for limit in LIMITS:
            assert forward(read, limit) == whole, (name, limit)
            assert backward(read, limit) == whole, (name, limit)
