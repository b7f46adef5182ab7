"""A session with a turn that cannot be sealed is deleted, and adopted around, all the same."""

from __future__ import annotations

from pathlib import Path

import palaver

from ..tools.puppet import Script
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


FAMILY = """
import os, signal, sys, palaver
from palaver.core.verbs import lifecycle
delete, count = lifecycle.delete, 0

def killed_at_the_third(*given):
    global count
    count += 1
    delete(*given)
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)  # before its commit

lifecycle.delete = killed_at_the_third
palaver.open(sys.argv[1]).sessions.get(sys.argv[2]).delete(descendants=True)
"""


def test_a_deletion_of_a_subtree_that_was_killed_half_way_is_finished_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    with palaver.open(path) as store:
        root = store.sessions.create("coder")
        root.commit("Hello?")
        for _ in range(3):
            root.fork().fork().commit("And?")
    with Script(FAMILY, str(path), root.id) as process:
        process.wait()
        assert process.status == -9
    with palaver.open(path) as store:
        root = store.sessions.get(root.id)
        assert len(list(store.sessions)) == 5  # what was said in the others is gone first: nothing stands alone
        assert {info.relation for info in store.sessions} == {"root", "fork"}
        assert [root.delete(descendants=True), root.delete(descendants=True)] == [5, 0]
        assert store.sessions.list(archived=True).sessions == [] and store.verify() == []


def test_what_came_from_a_session_whose_row_another_program_removed_is_deleted_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    with palaver.open(path) as store:
        root = store.sessions.create("coder")
        child = store.sessions.create("helper", parent=root)
        grandchild = store.sessions.create("helper", parent=child)
        with writing(str(path)) as db:
            db.execute("DELETE FROM chat_sessions WHERE id = ?", (child.id,))
        assert root.delete(descendants=True) == 2
        assert store.sessions.get(grandchild.id, deleted=True).info.deleted_at is not None
