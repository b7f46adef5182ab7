"""A part of a transcript can be asked for: after a message, before one, at most so many."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver
from palaver.core.read.transcript import Window, read


@pytest.fixture
def session(tmp_path: Path) -> palaver.Session:
    store = palaver.open(tmp_path / "talks.db")
    session = store.sessions.create("coder")
    for number in range(5):
        session.commit({"id": f"m{number}", "role": "user", "content": str(number)})
    return session


def shown(
    session: palaver.Session, after: int | None = None, before: int | None = None, limit: int | None = None
) -> str:
    """The words of a window whose borders are messages by their place."""
    names = [message.id for message in session.transcript()]
    window = Window(None if after is None else names[after], None if before is None else names[before], limit)
    with session._store.db.read() as tx:
        return "".join(message.ui()["parts"][0]["text"] for message in read(tx, session.id, window))


def test_without_borders_it_is_all_of_it(session: palaver.Session) -> None:
    assert shown(session) == "01234"


def test_the_messages_that_are_named_are_outside(session: palaver.Session) -> None:
    assert shown(session, after=1) == "234"
    assert shown(session, before=3) == "012"
    assert shown(session, after=0, before=4) == "123"


def test_a_limit_takes_the_last_ones_unless_it_goes_on_after_one(session: palaver.Session) -> None:
    assert shown(session, limit=2) == "34"
    assert shown(session, before=4, limit=2) == "23"
    assert shown(session, after=0, limit=2) == "12"


def test_a_message_that_is_not_there_is_told(session: palaver.Session) -> None:
    with session._store.db.read() as tx, pytest.raises(palaver.MessageNotFound):
        read(tx, session.id, Window(after="msg_nowhere"))
