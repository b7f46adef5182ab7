"""Another program gave two parts of a message the same place: all who read them agree on an order."""

from __future__ import annotations

import json
from pathlib import Path

import palaver

from ..tools.sql import writing


def test_everybody_reads_them_in_the_same_order(tmp_path: Path) -> None:
    path = str(tmp_path / "talks.db")
    with palaver.open(path) as store:
        session = store.sessions.create("coder")
        session.commit("Hello?")
        with writing(path) as db:
            ((at,),) = db.execute("SELECT max(created_at) + 1 FROM chat_messages").fetchall()
            db.execute(
                "INSERT INTO chat_messages VALUES ('m', ?, 'assistant', '{}', ?, ?)", (session.id, at + 1, at + 1)
            )
            for name, words in (("b", "second"), ("a", "first")):
                part = json.dumps({"type": "text", "text": words})
                values = (name, "m", session.id, 0, "text", part, None, None, at, at)
                db.execute("INSERT INTO chat_parts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        session.adopt()
        shown = [part["text"] for part in session.messages()[-1]["parts"]]
        stored = [part["text"] for part in json.loads(session.messages_json())[-1]["parts"]]
        seen = [part["text"] for part in session.context()[-1]["parts"]]
        names = session.transcript()[-1].part_ids
    assert names == ["a", "b"]
    assert shown == stored == seen == ["first", "second"]
