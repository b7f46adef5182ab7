"""Where a `SessionDB` of ours lives, and which files it leaves alone."""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import palaver

from .support import contents, ours

SCHEMA_6 = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (6);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT,
    parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0,
    tool_call_count INTEGER DEFAULT 0, title TEXT, FOREIGN KEY (parent_session_id) REFERENCES sessions(id)
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
    content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER
);
CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id);
INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1.5);
INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'hello', 2.5);
"""


def say_and_hear(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "hello")
    assert contents(db, "s") == ["hello"]
    db.close()


def test_a_path_as_text_or_as_a_path(tmp_path: Path) -> None:
    say_and_hear(ours()(tmp_path / "one.db"))
    say_and_hear(ours()(str(tmp_path / "two.db")))
    say_and_hear(ours()(db_path=tmp_path / "three.db"))
    assert {"one.db", "two.db", "three.db"} <= {path.name for path in tmp_path.iterdir()}


def test_what_it_makes_is_a_store_of_palaver(tmp_path: Path) -> None:
    say_and_hear(ours()(tmp_path / "one.db"))
    with palaver.open(tmp_path / "one.db", create=False) as store:
        (info,) = store.sessions.list().sessions
        assert [m["parts"][0]["text"] for m in store.sessions.get(info.id).messages()] == ["hello"]
        assert store.verify() == []


def test_without_a_path_it_is_in_the_home_of_hermes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    say_and_hear(ours()())
    assert (tmp_path / "palaver.db").is_file()
    assert not (tmp_path / "state.db").exists()


def test_without_a_home_of_hermes_it_is_in_a_folder_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HERMES_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    say_and_hear(ours()())
    assert (tmp_path / ".hermes" / "palaver.db").is_file()


def test_folders_that_are_missing_are_made(tmp_path: Path) -> None:
    say_and_hear(ours()(tmp_path / "a" / "b" / "palaver.db"))


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_of_hermes_itself_is_refused_and_left_as_it_is(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as theirs:
        theirs.execute(f"PRAGMA journal_mode = {mode}")
        theirs.executescript(SCHEMA_6)
    theirs.close()
    before = {file.name: sha256(file.read_bytes()).digest() for file in tmp_path.iterdir()}
    with pytest.raises(palaver.PalaverError, match=r"import --from hermes"):
        ours()(path)
    assert {file.name: sha256(file.read_bytes()).digest() for file in tmp_path.iterdir()} == before


def test_an_error_of_ours_is_one_of_sqlite_too(mine: Any) -> None:
    """A program that catches `sqlite3.Error` catches ours; an unknown session is an IntegrityError."""
    with pytest.raises(sqlite3.IntegrityError) as caught:
        mine.append_message("nobody", "user", "x")
    assert isinstance(caught.value, palaver.PalaverError)
    with pytest.raises(sqlite3.Error) as refused:
        mine.create_session("s", None)
    assert isinstance(refused.value, palaver.PalaverError)
