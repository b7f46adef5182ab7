"""`sql` answers and cannot change anything; `doctor` says how things are and what to do."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from pathlib import Path

import pytest

import palaver
from palaver.cli.commands import sql

from .run import Cli
from .terminal import Terminal


def test_a_pipe_gets_tabs(cli: Cli) -> None:
    assert cli.ok("sql", "SELECT 1 AS one, 'a' || char(9) || 'b' AS two, NULL, x'00ff'") == (
        "one\ttwo\tNULL\tx'00ff'\n1\ta␉b\tNULL\tx'00ff'\n"
    )


def test_json_has_columns_and_rows(cli: Cli) -> None:
    answer = cli.json("sql", "SELECT 1 AS n, 1.5 AS r, 'é' AS t, NULL AS z, x'00ff' AS b, 9e999 AS i")
    assert answer == {"columns": ["n", "r", "t", "z", "b", "i"], "rows": [[1, 1.5, "é", None, {"hex": "00ff"}, "inf"]]}
    assert cli.json("sql", "SELECT 1 WHERE 0") == {"columns": ["1"], "rows": []}


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM chat_sessions",
        "DROP TABLE turns",
        "ATTACH 'other.db' AS o",
        "PRAGMA journal_mode=DELETE",
        "VACUUM INTO 'copy.db'",
        "SELECT 1; DELETE FROM chat_sessions",
        "nonsense",
    ],
)
def test_nothing_but_reading_is_possible(cli: Cli, query: str) -> None:
    before = (cli.home / "talks.db").read_bytes()
    done = cli("sql", query)
    assert done.code == 2 and "cannot run this" in done.err and "Traceback" not in done.err
    assert (cli.home / "talks.db").read_bytes() == before
    assert not (cli.home / "copy.db").exists() and not (cli.home / "other.db").exists()


@pytest.mark.parametrize("query", ["delete from heads", "WITH x AS (SELECT 1) DELETE FROM heads", "drop table heads"])
def test_who_would_change_something_is_told_that_sql_only_reads(cli: Cli, query: str) -> None:
    assert "sql only reads" in cli.refused("sql", query, code=2)
    assert "sql only reads" not in cli.refused("sql", "selekt 1", code=2)


CSV_QUERY = (
    "SELECT 1 AS n, 'a,b' AS \"a \"\"b\"\"\", NULL AS void, '' AS empty, 'two' || char(13, 10) || 'lines' AS text,"
    " x'00ff' AS bytes, 1.5 AS real"
)


def test_csv_is_as_the_standard_says(cli: Cli) -> None:
    answer = cli.ok("sql", "--csv", CSV_QUERY)
    names, row = 'n,"a ""b""",void,empty,text,bytes,real', '1,"a,b",,"","two\r\nlines",x\'00ff\',1.5'
    assert answer == f"{names}\r\n{row}\r\n"
    known = dict(zip(*csv.reader(io.StringIO(answer, newline=""), strict=True), strict=True))
    assert (known["text"], known['a "b"'], known["void"]) == ("two\r\nlines", "a,b", "")
    assert cli.ok("sql", "--csv", "SELECT NULL AS n UNION ALL SELECT 2") == 'n\r\n""\r\n2\r\n'
    assert cli.ok("sql", "--csv", "SELECT 1 AS n WHERE 0") == "n\r\n"


def test_csv_and_json_do_not_go_together(cli: Cli) -> None:
    done = cli("sql", "--csv", "--json", "SELECT 1")
    assert (done.code, done.out) == (2, "") and "--csv" in json.loads(done.err)["error"]["message"]


def test_csv_is_exact_in_a_pipe_and_safe_on_a_terminal(cli: Cli) -> None:
    query = "SELECT 'x' || char(27) || '[2J' AS t"
    assert cli.ok("sql", "--csv", query) == "t\r\nx\x1b[2J\r\n"
    with Terminal(cli.env, "sql", "--csv", query) as terminal:
        code, seen = terminal.end()
    assert code == 0 and "\u241b[2J" in seen and "\x1b" not in seen


def test_json_of_a_query_that_fails_on_the_way_is_still_json(cli: Cli) -> None:
    done = cli("sql", "--json", "SELECT 1 AS n UNION ALL SELECT abs(-9223372036854775807 - 1)")
    assert done.code == 2 and done.json() == {"columns": ["n"], "rows": [[1]], "incomplete": True}


def test_queries_come_from_a_pipe_too(cli: Cli) -> None:
    asked = "SELECT 1\n  AS a;\n\nSELECT 2 AS b;\n.tables\n"
    out = cli.ok("sql", stdin=asked)
    assert out.startswith("a\n1\nb\n2\n") and "chat_sessions\ttable\n" in out


def test_the_prompt_has_a_history_and_survives_mistakes(cli: Cli) -> None:
    (cli.home / ".palaver").mkdir(mode=0o700)
    with Terminal({**cli.env, "NO_COLOR": "1"}, "sql") as terminal:
        terminal.until("palaver> ")
        terminal.type("SELECT 40 + 2 AS answer;\r")
        terminal.until("answer\n42\npalaver> ")  # keys typed before the prompt are the terminal's, not the prompt's
        terminal.type("SELECT nonsense;\r")
        terminal.until("no such column: nonsense\npalaver> ")
        terminal.type("\x1b[A\x1b[A\r")  # twice up: the first query again
        terminal.until("AS answer;\nanswer\n42\npalaver> ")
        terminal.type("DELETE FROM heads;\r")
        terminal.until("sql only reads: this is refused, and nothing was changed (cannot run this: not authorized)\n")
        terminal.until("authorized)\npalaver> ")
        terminal.type("SELECT 7\r")
        terminal.until("SELECT 7\n    ...> ")
        terminal.type("AS seven;\r")
        terminal.until("seven\n7\npalaver> ")
        terminal.type("\x04")
        code, seen = terminal.end()
    assert code == 0 and seen.count("answer\n42\n") == 2
    history = cli.home / ".palaver" / "sql_history"
    assert "SELECT 40 + 2 AS answer;" in history.read_text() and history.stat().st_mode & 0o777 == 0o600


def test_ctrl_c_drops_what_was_typed_of_a_query(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[str] = []
    keys = iter(["SELECT 8", KeyboardInterrupt(), "SELECT", "9;", EOFError()])

    def typed(prompt: str) -> str:
        prompts.append(prompt)
        key = next(keys)
        if isinstance(key, str):
            return key
        raise key

    monkeypatch.setattr("builtins.input", typed)
    held: list[str] = []
    assert list(sql._statements(sql._typed(held), held)) == ["SELECT\n9;"]
    assert prompts == ["palaver> ", "    ...> ", "palaver> ", "    ...> ", "palaver> "]


def findings(cli: Cli, code: int = 0) -> dict[str, dict[str, str]]:
    done = cli("doctor", "--json")
    assert done.code == code, done.out
    return {one["check"]: one for one in done.json()["findings"]}


def test_a_healthy_store_has_nothing_to_do(cli: Cli) -> None:
    found = findings(cli)
    assert {"version", "file", "permissions", "filesystem", "wal", "locks", "sqlite", "schema"} <= set(found)
    assert all(one["ok"] for one in found.values())
    assert found["sessions"]["what"] == "2 sessions, 5 turns"
    assert cli.ok("doctor").count("ok ") == len(found)


def test_doctor_names_who_writes(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        turn = store.sessions.create().turn("Wait.")
        found = findings(Cli(tmp_path, tmp_path / "talks.db"))
        turn.abort()
    import os

    assert found["writers"]["what"].startswith(f"process {os.getpid()} on ")
    assert found["open turns"]["what"] == "1 streaming"


def test_doctor_tells_what_to_do(cli: Cli) -> None:
    path = cli.home / "talks.db"
    path.chmod(0o644)
    (cli.home / "again.db").hardlink_to(path)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(
            "INSERT INTO chat_messages SELECT 'other', id, 'user', '{}', 4000000000000, 4000000000000"
            " FROM chat_sessions LIMIT 1"
        )
    connection.close()
    found = findings(cli, code=1)
    assert found["permissions"]["todo"] == f"chmod 600 {path}"
    assert found["names"]["what"] == f"{path} has 2 names (hard links)" and found["names"]["todo"]
    assert found["loose rows"]["todo"] == "run `palaver adopt`"


@pytest.mark.parametrize("kind", ["missing", "directory", "text"])
def test_doctor_says_why_a_store_does_not_open(bare: Cli, kind: str) -> None:
    path = bare.home / "talks.db"
    if kind == "directory":
        path.mkdir()
    elif kind == "text":
        path.write_text("not a database, but long enough to be looked at\n" * 30)
    done = bare("doctor", "--store", str(path), "--json")
    assert done.code == 4 and "Traceback" not in done.err
    answer = json.loads(done.out)
    assert answer["opens"] is False and not answer["findings"][-1]["ok"]
