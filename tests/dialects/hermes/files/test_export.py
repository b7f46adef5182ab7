"""The file that goes out: schema 6 to the letter, whole or not at all, never over anything; with `strict`, no more."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

import palaver
from palaver import Refused, StoreReadOnly
from palaver.dialects.hermes.exporting import export_file
from palaver.dialects.hermes.importing import import_file, sessions_in
from palaver.dialects.hermes.rows import MESSAGE_COLUMNS, SESSION_COLUMNS
from palaver.dialects.hermes.schema_6 import TABLES
from palaver.dialects.hermes.state_file import opened

from ....tools.talk import texts
from .files import Said, add, content_of, made, session
from .talks import FILES, of_6, of_22


def schema_of(path: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1, 2").fetchall()


def test_a_strict_file_is_schema_6_and_says_what_it_left_out(store: palaver.Store, tmp_path: Path) -> None:
    import_file(store, of_22(tmp_path / "state.db"))
    plain = tmp_path / "plain.db"
    with closing(sqlite3.connect(plain)) as db:
        db.executescript(TABLES)
    report = export_file(store, tmp_path / "strict.db", strict=True)
    assert schema_of(tmp_path / "strict.db") == schema_of(plain)
    assert (report.sessions, report.columns) == (2, [])
    assert report.left_out["messages that were taken back"] == 6
    assert report.left_out["messages that were summarised"] == 3
    assert report.left_out["what each model used"] == 4
    assert {"sessions.cwd", "sessions.weather", "messages.mood", "messages.observed"} <= report.left_out.keys()
    found = content_of(tmp_path / "strict.db")
    assert [row["message_count"] for row in found["sessions"] if row["id"] == "s1"] == [5]
    assert [row["content"] for row in found["messages"]] == ["summary", "ok", "instead", "yes", "but this"]


def test_the_file_is_private_in_wal_mode_complete_and_searchable(store: palaver.Store, tmp_path: Path) -> None:
    import_file(store, of_6(tmp_path / "state.db"))
    out = tmp_path / "out" / "state.db"
    out.parent.mkdir()
    report = export_file(store, out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600 and [each.name for each in out.parent.iterdir()] == ["state.db"]
    with closing(sqlite3.connect(out)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("SELECT version FROM schema_version").fetchall() == [(6,)]
        assert [row[1] for row in db.execute("PRAGMA table_info(sessions)")] == list(SESSION_COLUMNS)
        assert [row[1] for row in db.execute("PRAGMA table_info(messages)")] == list(MESSAGE_COLUMNS)
        hits = db.execute("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'quotes'").fetchall()
        db.execute("DELETE FROM messages WHERE id = ?", hits[0])
        db.execute("INSERT INTO messages_fts(messages_fts) VALUES ('integrity-check')")
    assert (report.sessions, report.columns, len(hits)) == (3, [], 1)


def test_nothing_that_is_there_is_written_over(store: palaver.Store, tmp_path: Path) -> None:
    out = tmp_path / "out.db"
    export_file(store, out)
    before = out.read_bytes()
    with pytest.raises(Refused, match="is there already"):
        export_file(store, out)
    assert out.read_bytes() == before
    (tmp_path / "note.txt").write_text("x")
    palaver.open(tmp_path / "ours.db").close()
    for path in (tmp_path / "note.txt", tmp_path / "ours.db", Path(store.path), tmp_path):
        with pytest.raises(Refused, match="is there already"):
            export_file(store, path)
    (tmp_path / "used.db-wal").touch()
    with pytest.raises(Refused, match="log"):
        export_file(store, tmp_path / "used.db")
    with pytest.raises(StoreReadOnly, match="No such file"):
        export_file(store, tmp_path / "nowhere" / "out.db")
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".part")] == []


def test_sessions_of_other_verbs_go_out_with_what_they_are(store: palaver.Store, tmp_path: Path) -> None:
    mine = store.sessions.create("coder", title="A  title\u200b", model="openai/gpt-5", user="me")
    mine.commit(
        ["One?", {"role": "assistant", "content": "1"}], system_prompt="Be brief.", usage={"input": 5, "output": 2}
    )
    mine.commit(["Two?", {"role": "assistant", "content": "2"}], cost_usd=0.5, usage={"input": 1})
    mine.rewind(mine.path()[0])
    mine.compact("Ones were counted.")
    mine.end("done")
    fork = mine.fork(at=mine.path()[0])
    fork.archive()
    store.sessions.create("coder", id="same", title="A title")
    store.sessions.create("coder", id="long", title="x" * 101)
    store.sessions.create("coder", id="deleted").delete()
    report = export_file(store, tmp_path / "out.db")
    assert report.untitled == ["same", "long"] and report.columns == ["sessions.archived", "messages.active"]
    found = content_of(tmp_path / "out.db")
    sessions = {str(row["id"]): row for row in found["sessions"]}
    assert sessions.keys() == {mine.id, fork.id, "same", "long"}
    about = sessions[mine.id]
    assert (about["title"], about["source"], about["user_id"], about["end_reason"]) == (
        "A title",
        "unknown",
        "me",
        "done",
    )
    assert (about["model"], about["system_prompt"], about["message_count"]) == ("openai/gpt-5", "Be brief.", 3)
    assert (about["input_tokens"], about["output_tokens"], about["actual_cost_usd"]) == (6, 2, 0.5)
    assert (sessions[fork.id]["parent_session_id"], sessions[fork.id]["archived"]) == (mine.id, 1)
    rows = [(row["content"], row["active"]) for row in found["messages"] if row["session_id"] == mine.id]
    assert rows == [("One?", 1), ("1", 1), ("Two?", 0), ("2", 0), ("Ones were counted.", 1)]
    assert [row["content"] for row in found["messages"] if row["session_id"] == fork.id] == ["One?", "1"]
    assert [row["id"] for row in found["messages"]] == list(range(1, len(found["messages"]) + 1))


def test_numbers_may_be_somebody_elses(store: palaver.Store, tmp_path: Path) -> None:
    import_file(store, of_6(tmp_path / "state.db"))
    seen: list[str] = []

    def number_of(ref: str) -> int:
        seen.append(ref)
        return 1_000 + len(seen)

    export_file(store, tmp_path / "out.db", number_of=number_of)
    assert len(set(seen)) == len(seen) and {ref[:3] for ref in seen} == {"msg", "prt"}
    assert [row["id"] for row in content_of(tmp_path / "out.db")["messages"]] == [1_001 + n for n in range(len(seen))]
    messages = {message.id: message for message in store.sessions.get("s1").transcript()}
    [narrator] = [ref for ref in seen if ref in messages and "unusual" in messages[ref].json()]
    number = 1_001 + seen.index(narrator)
    assert [row["role"] for row in content_of(tmp_path / "out.db")["messages"] if row["id"] == number] == ["narrator"]


def test_what_is_told_of_a_row_by_its_message_is_the_row(store: palaver.Store, tmp_path: Path) -> None:
    """Were the rows themselves not kept, the messages would say them: but for the order of results."""
    import_file(store, FILES["6"](tmp_path / "state.db"))
    natives = store.natives
    export_file(store, tmp_path / "kept.db")
    store.natives = lambda turn_id: []  # type: ignore[method-assign]
    try:
        export_file(store, tmp_path / "said.db")
    finally:
        store.natives = natives  # type: ignore[method-assign]

    def rows(name: str) -> list[str]:
        found = content_of(tmp_path / name)["messages"]
        return sorted(str(sorted((key, value) for key, value in row.items() if key != "id")) for row in found)

    assert rows("said.db") == rows("kept.db")


def test_a_graft_of_the_sessions_in_a_file_is_its_import(store: palaver.Store, tmp_path: Path) -> None:
    with opened(of_6(tmp_path / "state.db")) as file:
        report = store.graft(sessions_in(file))
    assert [each.foreign_id for each in report.sessions] == ["s1", "s2", "empty"]
    assert store.sessions.get("empty").metadata["hermes"]["system_prompt"] == "Alone."
    assert import_file(store, tmp_path / "state.db").rows == 0


def test_a_person_finds_the_session_by_its_name_and_searches_it(store: palaver.Store, tmp_path: Path) -> None:
    source = made(tmp_path / "state.db", [session("sess_abc123")], Said("sess_abc123")("user", "docker fails").rows)
    import_file(store, source)
    add(source, messages=Said("sess_abc123", 1767300100)("assistant", "Restart the daemon.").rows)
    import_file(store, source)
    assert texts(store.sessions.get("sess_abc123")) == ["docker fails", "Restart the daemon."]
    assert [hit.role for hit in store.search("daemon source:cli")] == ["assistant"]
