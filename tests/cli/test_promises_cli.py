"""Promises of the seeds, kept where a person meets them: at the command line. Judged by plain SQL in this process,
after the commands have ended."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver

from . import talks
from .run import Cli

SEED = 7


def rows(path: Path, query: str, *params: object) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query, params).fetchall()
    finally:
        connection.close()


def listed(cli: Cli, *options: str) -> set[str]:
    return {one["id"] for one in cli.json("ls", *options)["sessions"]}


# ---------------------------------------------------------------- 86, 87


def test_promise_086_archived_sessions_are_filtered_from_lists_by_default(cli: Cli) -> None:
    session = cli.json("show", "ticket-7")["session"]["id"]
    both = listed(cli)
    cli.ok("archive", "ticket-7")
    assert listed(cli) == both - {session}
    assert listed(cli, "--all") == both
    for filter_ in (("--agent", "coder"), ("--workspace", "/src/app")):
        assert listed(cli, *filter_) == both - {session}
        assert listed(cli, *filter_, "--all") == both
    assert cli.json("show", "@")["session"]["id"] != session
    assert session not in cli.ok("ls") and session in cli.ok("ls", "--all")
    assert "[archived] Fix the build" in cli.ok("ls", "-a")


def test_promise_086_archived_children_are_filtered_and_can_be_included(cli: Cli) -> None:
    child = cli.json("ls", "--parent", "ticket-7")["sessions"][0]["id"]
    cli.ok("archive", child)
    assert listed(cli, "--parent", "ticket-7") == set()
    assert listed(cli, "--parent", "ticket-7", "--all") == {child}


def test_promise_087_archiving_is_not_a_delete(cli: Cli) -> None:
    before = cli.json("show", "ticket-7")
    kept = rows(cli.home / "talks.db", "SELECT id, data_json FROM chat_parts ORDER BY id")
    cli.ok("archive", "ticket-7")
    after = cli.json("show", "ticket-7")
    assert after["messages"] == before["messages"]
    assert after["session"]["archived_at"] is not None
    assert rows(cli.home / "talks.db", "SELECT id, data_json FROM chat_parts ORDER BY id") == kept
    cli.refused("undo", "ticket-7", code=5)


def test_promise_087_archiving_can_be_undone_in_any_order_of_verbs(cli: Cli) -> None:
    """A walk over archive, rm and their undoing, beside a model of two sets."""
    print("seed", SEED)
    dice = random.Random(SEED)
    ids = sorted(listed(cli))
    archived: set[str] = set()
    deleted: set[str] = set()
    for _ in range(12):
        one = dice.choice(ids)
        if one in deleted:
            cli.ok("rm", "--undo", one)
            deleted.discard(one)
            archived.discard(one)
        elif one in archived:
            cli.ok("archive", "--undo", one)
            archived.discard(one)
        elif dice.random() < 0.7:
            cli.ok("archive", one)
            archived.add(one)
        else:
            cli.ok("rm", one)
            deleted.add(one)
        assert listed(cli, "--all") == set(ids) - deleted
        assert listed(cli) == set(ids) - deleted - archived
    cli.ok("verify")


# ---------------------------------------------------------------- 142, 144

FUTURE_PART = '{"type":"hologram","frames":[1.10,{"z":null,"a":123456789012345678901}],"state":"spinning"}'
FUTURE_METADATA = '{"future":{"deep":[1.0,2]},"another":"\\u00e9"}'


def write_from_the_future(path: Path, session: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        at = 1_700_000_000_000
        connection.execute("UPDATE chat_sessions SET metadata_json = ? WHERE id = ?", (FUTURE_METADATA, session))
        connection.execute(
            "INSERT INTO chat_messages VALUES ('msg-future', ?, 'user', ?, ?, ?)", (session, FUTURE_METADATA, at, at)
        )
        connection.execute(
            "INSERT INTO chat_parts VALUES ('prt-future', 'msg-future', ?, 0, 'hologram', ?, NULL, NULL, ?, ?)",
            (session, FUTURE_PART, at, at),
        )
    connection.close()


def test_promise_142_unknown_fields_and_parts_survive_read_modify_write(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    with palaver.open(path) as store:
        session = store.sessions.create(title="Future").id
    write_from_the_future(path, session)
    cli = Cli(tmp_path, path)
    for command in (["adopt"], ["archive", session], ["archive", "--undo", session], ["verify", "--fix"]):
        cli.ok(*command)
    fork = cli.json("fork", session, "--copy")["session"]["id"]
    cli.ok("export", "-o", "out.jsonl")
    cli.ok("import", "out.jsonl", "-s", "new.db")
    for file in (path, tmp_path / "new.db"):
        assert rows(file, "SELECT data_json FROM chat_parts WHERE session_id = ?", session) == [(FUTURE_PART,)]
        assert rows(file, "SELECT data_json FROM chat_parts WHERE session_id = ?", fork) == [(FUTURE_PART,)]
        assert rows(file, "SELECT metadata_json FROM chat_messages WHERE id = 'msg-future'") == [(FUTURE_METADATA,)]
        assert rows(file, "SELECT metadata_json FROM chat_sessions WHERE id = ?", session) == [(FUTURE_METADATA,)]
    assert FUTURE_PART in cli.ok("show", session, "--json")
    assert "hologram" in cli.ok("show", session)


CONTRACT_READ = """
SELECT m.id, m.role, p.data_json FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id
 WHERE m.session_id = ? AND json_extract(m.metadata_json, '$.hidden_at') IS NULL ORDER BY m.created_at, p."index"
"""


def read_by_contract(path: Path, session: str) -> list[tuple[str, list[Any]]]:
    """A reader that knows the three tables only: messages by time, parts by index, hidden ones left out."""
    found: dict[str, tuple[str, list[Any]]] = {}
    for message, role, data in rows(path, CONTRACT_READ, session):
        found.setdefault(message, (role, []))[1].append(json.loads(data))
    return list(found.values())


def test_promise_144_another_implementation_reads_our_file(cli: Cli) -> None:
    cli.ok("rewind", "ticket-7~1")
    fork = cli.json("fork", "ticket-7~1")["session"]["id"]
    cli.ok("materialise", fork)
    for name in ("ticket-7", fork):
        shown = cli.json("show", name)
        ours = [(message["role"], message["parts"]) for message in shown["messages"]]
        assert ours and read_by_contract(cli.home / "talks.db", shown["session"]["id"]) == ours


CONTRACT = """
CREATE TABLE chat_sessions (
    id TEXT PRIMARY KEY, agent TEXT NOT NULL, workspace_root TEXT, model_json TEXT NOT NULL, parent_id TEXT,
    parent_message_id TEXT, permissions_json TEXT NOT NULL DEFAULT '[]', metadata_json TEXT NOT NULL DEFAULT '{}',
    prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0, cache_read INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0, total_tokens INTEGER NOT NULL DEFAULT 0, cost_usd REAL NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, archived_at INTEGER);
CREATE TABLE chat_messages (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, metadata_json TEXT NOT NULL DEFAULT '{}',
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE chat_parts (
    id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, "index" INTEGER NOT NULL,
    type TEXT NOT NULL, data_json TEXT NOT NULL, tool_call_id TEXT, tool_state TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL);
INSERT INTO chat_sessions (id, agent, model_json, created_at, updated_at)
VALUES ('ses_other', 'theirs', '{"provider_id":"p","model_id":"m"}', 1, 4);
INSERT INTO chat_messages VALUES ('m1', 'ses_other', 'user', '{}', 2, 2), ('m2', 'ses_other', 'assistant', '{}', 3, 3);
INSERT INTO chat_parts VALUES
    ('p1', 'm1', 'ses_other', 0, 'text', '{"type":"text","text":"Hello?"}', NULL, NULL, 2, 2),
    ('p2', 'm2', 'ses_other', 0, 'text', '{"type":"text","text":"Hello."}', NULL, NULL, 3, 3);
"""


def test_promise_144_we_read_another_implementations_file(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "theirs.db")
    connection.executescript(CONTRACT)
    connection.close()
    cli = Cli(tmp_path, tmp_path / "theirs.db")
    assert listed(cli) == {"ses_other"}
    assert cli.ok("show", "ses_other").endswith("\n\nuser\nHello?\n\nassistant\nHello.\n")
    cli.ok("adopt")
    assert cli.json("tree", "ses_other")["turns"][0]["kind"] == "foreign"
    cli.ok("verify")
    assert read_by_contract(tmp_path / "theirs.db", "ses_other") == [
        ("user", [{"type": "text", "text": "Hello?"}]),
        ("assistant", [{"type": "text", "text": "Hello."}]),
    ]


# ---------------------------------------------------------------- 149


def test_promise_149_an_import_of_an_export_is_the_same_store(cli: Cli) -> None:
    cli.ok("archive", "ticket-7")
    cli.ok("export", "-o", "all.jsonl")
    new = Cli(cli.home, cli.home / "new.db")
    new.ok("import", "all.jsonl")
    assert new.json("ls", "--all") == cli.json("ls", "--all")
    for one in cli.json("ls", "--all")["sessions"]:
        for command in ("show", "tree", "log"):
            assert new.json(command, one["id"]) == cli.json(command, one["id"])
    assert new.json("import", "all.jsonl") == {
        **{"imported": 0, "already_there": 2, "refused": 0, "refusals": [], "cut": []},
        "lines": len((cli.home / "all.jsonl").read_bytes().splitlines()),
        **dict.fromkeys(("session", "turns", "items", "known", "beside", "homeless", "schema")),  # of `--from`
        **{"skipped": [], "tables": [], "unreadable": []},
    }


# ---------------------------------------------------------------- 153


def files_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_promise_153_the_store_is_in_the_default_directory_and_its_side_files_beside_it(bare: Cli) -> None:
    with palaver.open(bare.home / ".palaver" / "palaver.db") as store:
        turn = store.sessions.create(title="Here").turn("Hello?")
        assert [one["title"] for one in bare.json("ls")["sessions"]] == ["Here"]
        assert {"palaver.db", "palaver.db-wal", "palaver.db-shm"} <= files_of(bare.home / ".palaver")
        turn.abort()
    assert [path.name for path in bare.home.iterdir()] == [".palaver"]
    assert (bare.home / ".palaver").stat().st_mode & 0o777 == 0o700


def test_promise_153_the_environment_says_another_place(bare: Cli) -> None:
    talks.small(bare.home / "a" / "palaver.db")
    talks.small(bare.home / "b" / "mine.db")
    assert len(bare.json("ls", PALAVER_HOME=str(bare.home / "a"))["sessions"]) == 2
    both = {"PALAVER_HOME": str(bare.home / "nowhere"), "PALAVER_STORE": str(bare.home / "b" / "mine.db")}
    assert len(bare.json("ls", **both)["sessions"]) == 2
    assert not (bare.home / "nowhere").exists() and not (bare.home / ".palaver").exists()


def test_promise_153_a_missing_directory_is_said_to_be_missing_and_not_made(bare: Cli) -> None:
    assert "there is no store at" in bare.refused("ls", "-s", str(bare.home / "no" / "talks.db"), code=4)
    assert list(bare.home.iterdir()) == []


def test_promise_153_a_place_that_cannot_be_written_is_a_clear_error(cli: Cli) -> None:
    cli.ok("export", "-o", "out.jsonl")
    (cli.home / "file").write_text("")
    closed = cli.home / "closed"
    closed.mkdir(mode=0o500)
    unwritable = "/proc/talks.db" if os.geteuid() == 0 else str(closed / "talks.db")
    assert "is not a directory" in cli.refused("import", "out.jsonl", "-s", str(cli.home / "file" / "x.db"), code=4)
    assert "cannot create" in cli.refused("import", "out.jsonl", "-s", unwritable, code=4)


@pytest.mark.on_disk
def test_promise_153_a_network_file_system_is_a_clear_error(cli: Cli) -> None:
    (cli.home / "mounts").write_text("20 1 0:1 / / rw - nfs4 server:/export rw\n")
    code = (
        "import sys; from palaver.db.sqlite import filesystem; from palaver.cli import main\n"
        "filesystem.MOUNTS = 'mounts'; main(sys.argv[1:])"
    )
    for command, exit_code in (["ls"], 4), (["doctor"], 4):
        run = subprocess.run(
            [sys.executable, "-c", code, *command],
            env=cli.env,
            cwd=cli.home,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert run.returncode == exit_code
        assert "nfs4 file system" in run.stdout + run.stderr and "Traceback" not in run.stderr


# ---------------------------------------------------------------- 89


@pytest.mark.parametrize("source", [None, "slack"])
def test_promise_089_rm_by_age_deletes_only_what_ended_before_and_prints_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None
) -> None:
    """A model with a clock that is turned, ages around the boundary of 90 days."""
    now, day = 1_800_000_000_000, 86_400_000
    at = [now]
    monkeypatch.setattr("palaver.base.clock._now_ns", lambda: at[0] * 1_000_000)
    dice, kept, gone = random.Random(SEED), set[str](), set[str]()
    with palaver.open(tmp_path / "talks.db", durability="normal") as store:
        for _ in range(70):
            ago = 90 * day + dice.choice((-1, 0, 1, -day, day))
            at[0], where, ended = now - ago, dice.choice(("slack", "api")), dice.random() < 0.7
            session = store.sessions.create(source=where)
            session.commit("Hello?")
            if ended:
                session.end()
            is_meant = ended and ago > 90 * day and source in (None, where)
            (gone if is_meant else kept).add(session.id)
    at[0] = now
    cli = Cli(tmp_path, tmp_path / "talks.db")
    words = ["rm", "--older-than", "90d", "--ended", *(["--source", source] if source else [])]
    assert {line.split()[0] for line in cli.ok(*words).splitlines()} == gone
    assert listed(cli, "--limit", "100") == kept | gone
    assert cli.ok(*words, "--yes") == f"deleted {len(gone)} sessions\n"
    assert listed(cli, "--limit", "100") == kept
    deleted = "SELECT session_id FROM heads WHERE deleted_at IS NOT NULL"
    assert {row[0] for row in rows(tmp_path / "talks.db", deleted)} == gone
