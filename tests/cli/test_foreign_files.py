"""`palaver import` of something else says what it looks like, and makes no store."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from palaver.cli.foreign_files import looks_like

from .run import Cli

CLAUDE_CODE = [
    {"type": "summary", "summary": "Fix", "leafUuid": "u2"},
    {"parentUuid": None, "isSidechain": False, "sessionId": "s1", "type": "user", "uuid": "u1", "message": {}},
]
CHATGPT = [{"title": "Hi", "create_time": 1.5, "mapping": {"a": {"id": "a", "parent": None}}, "current_node": "a"}]
CLAUDE_AI = [{"uuid": "u", "name": "Hi", "chat_messages": [{"text": "Hi", "sender": "human"}]}]
CODEX = [{"timestamp": "2026-01-01", "type": "session_meta", "payload": {"id": "t1", "cwd": "/"}}]
MESSAGES = [{"role": "user", "content": "Hi"}]


def lines(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


OTHERS = {
    "claude.jsonl": (lines(CLAUDE_CODE), "looks like a Claude Code session"),
    "later.jsonl": (lines(CLAUDE_CODE[1:]), "looks like a Claude Code session"),
    "conversations.json": (json.dumps(CHATGPT).encode(), "looks like an export of ChatGPT"),
    "pretty.json": (json.dumps(CHATGPT, indent=2).encode(), "looks like an export of ChatGPT"),
    "claude.json": (json.dumps(CLAUDE_AI).encode(), "looks like an export of Claude.ai"),
    "rollout.jsonl": (lines(CODEX), "looks like a Codex session"),
    "chat.json": (json.dumps(MESSAGES).encode(), "looks like messages as JSON"),
    "other.json": (b'{"a": 1}', "looks like JSON of another program"),
    "notes.md": (b"# Notes\n\nSome.\n", "looks like Markdown"),
    "page.html": (b"<!DOCTYPE html><p>Hi", "looks like a web page"),
    "notes.txt": ("Grüße\n".encode(), "looks like text that is no export"),
    "packed.jsonl.gz": (gzip.compress(b"x"), "looks like a gzip file: unpack it first"),
    "wide.txt": ("Hello".encode("utf-16"), "looks like text in UTF-16"),
    "noise": (b"\x7fELF\x02\x01\x00\x00\xff", "is no text at all"),
    "empty": (b"", "is empty"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_it_is_said_what_a_file_looks_like_and_no_store_is_made(bare: Cli, name: str) -> None:
    content, said = OTHERS[name]
    (bare.home / name).write_bytes(content)
    told = bare.refused("import", name, "--store", "new.db", code=2)
    assert f"palaver: {name} {said}" in told and "what `palaver export` wrote (nothing was changed)" in told
    assert f"palaver: stdin {said}" in bare.refused("import", "-", "--store", "new.db", code=2, stdin=content)
    assert [file.name for file in bare.home.iterdir()] == [name]


def test_our_own_pages_are_known(cli: Cli) -> None:
    for shape in ("json", "markdown"):
        cli.ok("export", "--format", shape, "-o", f"talks.{shape}")
        said = cli.refused("import", f"talks.{shape}", "-s", "new.db", code=2)
        assert f"what `palaver export --format {shape}` writes" in said
    cli.ok("export", "-o", "talks.jsonl")
    whole = (cli.home / "talks.jsonl").read_bytes()
    (cli.home / "headless.jsonl").write_bytes(whole.partition(b"\n")[2])
    assert "first line is missing" in cli.refused("import", "headless.jsonl", "-s", "new.db", code=2)
    assert not (cli.home / "new.db").exists()


def test_a_database_is_named_as_one(cli: Cli) -> None:
    with sqlite3.connect(cli.home / "other.db") as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    for name in ("other.db", "talks.db"):
        said = cli.refused("import", name, "-s", "new.db", code=2)
        assert f"{name} is a SQLite database" in said and "palaver copy" in said
    assert not (cli.home / "new.db").exists()


def test_an_export_of_a_later_version_is_said_to_be_one(cli: Cli) -> None:
    (cli.home / "new.jsonl").write_text('{"palaver":"export","version":99,"schema":1}\n')
    assert "upgrade Palaver" in cli.refused("import", "new.jsonl", "-s", "new.db", code=2)
    assert not (cli.home / "new.db").exists()


def test_a_program_is_told_the_kind(bare: Cli) -> None:
    (bare.home / "x").write_bytes(b"")
    done = bare("import", "x", "--json")
    assert json.loads(done.err)["error"]["kind"] == "NotAnExport" and done.out == ""


def test_a_character_that_is_cut_off_by_the_end_of_what_was_looked_at_is_text() -> None:
    assert looks_like("é".encode() * 10 + b"\xc3") == "text that is no export"
    assert looks_like(b"\xc3" + b"a" * 10) == "no text at all"


def test_a_slow_pipe_is_looked_at_too(cli: Cli, tmp_path: Path) -> None:
    cli.ok("export", "-o", "talks.jsonl")
    whole = (cli.home / "talks.jsonl").read_bytes()
    assert "imported 2 sessions" in cli.real.ok("import", "-", "-s", "new.db", stdin=whole)
