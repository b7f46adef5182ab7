"""`palaver rebuild`: damage to a store that keeps everything is shown, put right, and told by the exit code."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import palaver

from .run import Cli
from .talks import talk

TABLES = ("chat_sessions", "chat_messages", "chat_parts")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sessions in a store that keeps everything."""
    path = tmp_path_factory.mktemp("whole") / "talks.db"
    with palaver.open(path, events="full") as store:
        for name in ("ticket-7", "ticket-8"):
            session = store.sessions.create(agent="coder", title=f"About {name}", id=name)
            talk(session, "Why does the build fail?", "The linker flag is missing.", tool="bash")
    return path


@pytest.fixture
def full(tmp_path: Path, whole: Path) -> Cli:
    shutil.copy(whole, tmp_path / "talks.db")
    return Cli(tmp_path, tmp_path / "talks.db")


def sql(cli: Cli, *statements: str) -> list[Any]:
    """Another program; what its last statement found."""
    db = sqlite3.connect(cli.home / "talks.db")
    with db:
        found = [db.execute(statement).fetchall() for statement in statements][-1]
    db.close()
    return found


def dump(cli: Cli) -> list[Any]:
    return [sql(cli, f"SELECT * FROM {table} ORDER BY id") for table in TABLES]


def id_of(cli: Cli, name: str) -> str:
    return str(sql(cli, f"SELECT id FROM foreign_ids WHERE foreign_id = '{name}'")[0][0])


def test_a_store_that_is_as_it_was_written_is_said_to_be(full: Cli) -> None:
    assert full.ok("rebuild") == "every row is as it was written\n"
    assert full.json("rebuild", "--check") == {"problems": [], "rebuilt": 0}


def test_rows_that_are_gone_are_named_and_made_again(full: Cli) -> None:
    before = dump(full)
    (message,) = sql(full, "SELECT id FROM chat_messages ORDER BY created_at LIMIT 1")[0]
    sql(full, f"DELETE FROM chat_messages WHERE id = '{message}'")
    assert full.ok("rebuild") == f"chat_messages {message}: the row is missing\n1 row made again\n"
    assert dump(full) == before
    assert full.ok("verify") == "everything fits\n"


def test_a_fresh_set_of_tables_is_filled_from_the_journal(full: Cli) -> None:
    before = dump(full)
    sql(full, *(f"DELETE FROM {table}" for table in TABLES))
    told = full.json("rebuild")
    assert told["rebuilt"] == len(told["problems"]) == sum(len(rows) for rows in before)
    assert dump(full) == before
    assert full.ok("rebuild") == "every row is as it was written\n"


def test_a_check_shows_what_differs_changes_nothing_and_ends_with_1(full: Cli) -> None:
    sql(full, "UPDATE chat_sessions SET agent = 'mallory', total_tokens = 7")
    before = dump(full)
    done = full("rebuild", "--check")
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines()[-1] == "2 differences"
    assert done.out.splitlines()[0].endswith(": agent, total_tokens is not what was written")
    assert dump(full) == before


def test_for_a_program_a_check_is_json_with_the_same_code(full: Cli) -> None:
    session = id_of(full, "ticket-7")
    sql(full, f"UPDATE chat_sessions SET agent = 'mallory' WHERE id = '{session}'")
    done = full("rebuild", "--check", "--json")
    problem = {"rule": "rebuild", "where": f"chat_sessions {session}", "what": "agent is not what was written"}
    assert (done.code, done.err) == (1, "")
    assert done.json() == {"problems": [{**problem, "copy": True}], "rebuilt": 0}
    assert full.json("rebuild") == {"problems": [{**problem, "copy": True}], "rebuilt": 1}


@pytest.mark.parametrize("name", ["ticket-7", "About ticket-7", "the id"])
def test_one_session_by_any_of_its_names(full: Cli, name: str) -> None:
    sql(full, "UPDATE chat_messages SET role = 'system'")
    told = full.json("rebuild", id_of(full, "ticket-7") if name == "the id" else name)
    assert told["rebuilt"] == 2
    done = full("rebuild", "--check")
    assert (done.code, done.out.splitlines()[-1]) == (1, "2 differences")  # of the other one


@pytest.mark.parametrize("name", ["ticket-7", "the id"])
def test_a_session_whose_own_row_is_lost_is_still_found_by_its_id(full: Cli, name: str) -> None:
    before = dump(full)
    session = id_of(full, "ticket-7")
    sql(full, *(f"DELETE FROM {table}" for table in TABLES))
    assert full.json("rebuild", session if name == "the id" else name)["rebuilt"] > 5
    full.ok("rebuild")
    assert dump(full) == before


def test_a_session_that_was_not_recorded_from_its_beginning_is_told_and_ends_with_1(full: Cli) -> None:
    session = id_of(full, "ticket-7")
    sql(full, f"DELETE FROM journal WHERE session_id = '{session}' AND seq = 1", "UPDATE chat_messages SET role = 'x'")
    done = full("rebuild", "--json")
    assert done.code == 1
    told = done.json()
    assert [(p["where"], p["copy"]) for p in told["problems"] if p["rule"] == "journal"] == [(session, False)]
    assert told["rebuilt"] == 2
    said = full("rebuild")
    assert said.code == 1
    assert said.out == f"{session}: was not recorded from its beginning; nothing was rebuilt\n1 difference\n"


def test_names_that_fit_nothing_or_too_much_are_unknown(full: Cli) -> None:
    assert "'nobody'" in full.refused("rebuild", "nobody", code=3)
    assert "more than one session" in full.refused("rebuild", "ses_", code=3)
    assert full("rebuild", "nobody", "--json").code == 3


def test_a_store_that_keeps_no_journal_says_so(cli: Cli) -> None:
    said = cli.refused("rebuild", code=5)
    assert said == "palaver: this store keeps no journal; only a store that was begun with `events` set to full does\n"
    assert cli.refused("rebuild", "--check", code=5) == said


def test_no_store_is_not_made(bare: Cli) -> None:
    bare.refused("rebuild", code=4)
    assert not (bare.home / ".palaver").exists()


def test_hostile_names_reach_no_terminal(full: Cli) -> None:
    columns = "id, agent, model_json, created_at, updated_at"
    sql(full, f"INSERT INTO chat_sessions ({columns}) VALUES ('evil\x1b[2J', 'a', '{{}}', 1, 1)")
    with palaver.open(full.home / "talks.db") as store:
        store.sessions.get("evil\x1b[2J").commit("hello")
    done = full("rebuild", "--check")
    assert done.code == 1 and "evil" in done.out and "\x1b" not in done.out + done.err
