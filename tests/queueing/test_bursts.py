"""In a burst the times of a session run ahead of the clock: what fires then was not changed before it was made."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver

from ..tools.sql import query


def test_a_message_that_fires_in_a_burst_is_not_older_than_its_making(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "talks.db"
    monkeypatch.setattr("palaver.base.clock._now_ns", lambda: 1_800_000_000_000 * 1_000_000)
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        session.enqueue("next", id="q1")
        for number in range(3):
            session.commit(str(number))
        turn = session.claim()
        assert turn is not None
        turn.seal()
    assert query(path, "SELECT id FROM chat_messages WHERE updated_at < created_at") == []
