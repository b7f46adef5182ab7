"""A queued message that was taken back has no place in the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver


def test_a_fork_at_it_is_refused(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create("coder")
        session.commit("Hello?")
        queued = session.enqueue("never mind", id="q1")
        (message,) = session.messages_of(queued.turn_id)
        session.cancel("q1")
        with pytest.raises(palaver.MessageNotFound, match="never had a place"):
            session.fork(at=message.id)
