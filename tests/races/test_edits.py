"""Who edits on a revision stands before what other programs wrote since it read."""

from __future__ import annotations

from pathlib import Path

import palaver

from ..tools.sql import put_message


def test_an_edit_comes_before_rows_that_it_has_not_read(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        turn = session.turn({"id": "c1", "role": "user", "content": "q1"})
        turn.write({"type": "text-start", "id": "1"})
        expected = session.revision
        put_message(path, session.id, "from outside")
        session.edit("c1", "q1 edited", expected=expected)
        said = [part["text"] for message in session.messages() for part in message["parts"] if part["type"] == "text"]
    assert said.index("q1 edited") < said.index("from outside")
