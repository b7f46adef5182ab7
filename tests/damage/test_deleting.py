"""A session with a turn that cannot be sealed is deleted, and adopted around, all the same."""

from __future__ import annotations

from pathlib import Path

import palaver

from ..tools.sql import put_message, writing
from ..tools.stores import kill


def damaged(path: Path) -> tuple[palaver.Store, palaver.Session]:
    store = palaver.open(path)
    session = store.sessions.create("coder")
    turn = session.turn("Hello?")
    turn.write({"type": "text-start", "id": "1"})
    with writing(str(path)) as db:
        db.execute("UPDATE turns SET facts_json = '7'")
    return store, session


def test_a_session_whose_open_turn_is_damaged_can_be_deleted(tmp_path: Path) -> None:
    store, session = damaged(tmp_path / "talks.db")
    session.delete()
    assert store.sessions.list().sessions == []
    assert {problem.rule for problem in store.verify()} <= {"aside", "facts"}


def test_a_damaged_turn_in_one_session_does_not_keep_the_rows_of_another_from_being_adopted(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    store, session = damaged(path)
    other = store.sessions.create("other")
    other.commit("Hello?")
    with palaver.open(path) as again:  # before the writer dies, so that nothing is recovered by the opening
        kill(store)
        put_message(path, session.id, "from outside")
        put_message(path, other.id, "from elsewhere")
        assert again.adopt() == 2
