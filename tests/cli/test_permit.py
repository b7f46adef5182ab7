"""`palaver permit`: a person looks at a session's rules, adds one, takes one away."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import palaver

from .run import Cli


def column(cli: Cli) -> str:
    """What another program finds in the session's row."""
    with palaver.open(cli.home / "talks.db") as store:
        session = store.sessions.get("ticket-7").id
    connection = sqlite3.connect(cli.home / "talks.db")
    try:
        ((text,),) = connection.execute("SELECT permissions_json FROM chat_sessions WHERE id = ?", (session,))
    finally:
        connection.close()
    return str(text)


def test_a_session_without_rules_says_so(cli: Cli) -> None:
    assert cli.ok("permit", "ticket-7") == "no rules\n"
    assert cli.json("permit", "ticket-7") == {"rules": []}


def test_a_rule_is_added_shown_and_taken_away(cli: Cli) -> None:
    assert cli.ok("permit", "ticket-7", "bash", "git *").splitlines() == ["allow  bash  git *", "1 rule"]
    said = cli.ok("permit", "ticket-7", "write", "/etc/**", "--deny").splitlines()
    assert said == ["allow  bash  git *", "deny   write  /etc/**", "2 rules"]
    assert cli.ok("permit", "ticket-7").splitlines() == said
    assert cli.ok("permit", "ticket-7", "bash", "git *", "--remove").splitlines() == ["deny   write  /etc/**", "1 rule"]
    assert cli.ok("permit", "ticket-7", "write", "/etc/**", "--remove") == "no rules\n"
    assert column(cli) == "[]"


def test_a_permission_alone_lists_its_rules_and_grants_nothing(cli: Cli) -> None:
    for permission, pattern in (("bash", "git *"), ("write", "/tmp/**"), ("bash", "ls *")):
        cli.ok("permit", "ticket-7", permission, pattern)
    before = column(cli)
    assert cli.ok("permit", "ticket-7", "bash").splitlines() == ["allow  bash  git *", "allow  bash  ls *", "2 rules"]
    assert [rule["pattern"] for rule in cli.json("permit", "ticket-7", "write")["rules"]] == ["/tmp/**"]
    assert cli.ok("permit", "ticket-7", "net") == "no rules\n"
    assert column(cli) == before


def test_half_a_rule_is_refused_and_it_is_said_how_everything_is_meant(cli: Cli) -> None:
    for option in ("--allow", "--deny", "--ask", "--remove"):
        said = cli.refused("permit", "ticket-7", "bash", option, code=2)
        assert f"palaver permit ticket-7 bash '*' {option}" in said
    assert column(cli) == "[]"
    (rule,) = cli.json("permit", "ticket-7", "bash", "*")["rules"]
    assert (rule["pattern"], rule["action"]) == ("*", "allow")


@pytest.mark.parametrize("options", [("--deny", "--allow"), ("--ask", "--deny"), ("--allow", "--ask", "--deny")])
def test_one_action_at_a_time(cli: Cli, options: tuple[str, ...]) -> None:
    assert "do not go together" in cli.refused("permit", "ticket-7", "bash", "git *", *options, code=2)
    assert "do not go together" in cli.refused("permit", "ticket-7", *options, code=2)
    assert "which permission" in cli.refused("permit", "ticket-7", options[0], code=2)
    assert column(cli) == "[]"


@pytest.mark.parametrize("action", ["allow", "deny", "ask"])
def test_each_action_has_its_option(cli: Cli, action: str) -> None:
    (rule,) = cli.json("permit", "ticket-7", "bash", "git *", f"--{action}")["rules"]
    assert rule["action"] == action


def test_json_has_the_fields_of_the_contract(cli: Cli) -> None:
    answer = cli.json("permit", "ticket-7", "bash", "git *", "--ask")
    assert set(answer) == {"rules"}
    (rule,) = answer["rules"]
    assert set(rule) == {"permission", "pattern", "action", "source", "added_at"}
    assert rule["source"] == "session" and type(rule["added_at"]) is int
    assert json.loads(column(cli)) == [rule]


def test_the_same_again_is_one_rule(cli: Cli) -> None:
    first = cli.json("permit", "ticket-7", "bash", "git *")
    assert cli.json("permit", "ticket-7", "bash", "git *") == first


def test_what_cannot_be_is_refused(cli: Cli) -> None:
    assert "which permission" in cli.refused("permit", "ticket-7", "--remove", code=2)
    cli.refused("permit", "nobody", "bash", code=3)
    cli.refused("permit", "ticket-7", "", "*", code=2)
    cli.refused("permit", "ticket-7", "bash", "", code=2)
    assert cli("permit", "ticket-7", "bash", "--forbid").code == 2
    assert column(cli) == "[]"


def test_an_archived_session_is_shown_but_not_changed(cli: Cli) -> None:
    cli.ok("permit", "ticket-7", "bash", "*")
    cli.ok("archive", "ticket-7")
    assert "archived" in cli.refused("permit", "ticket-7", "write", "*", code=5)
    assert "archived" in cli.refused("permit", "ticket-7", "bash", "*", "--remove", code=5)
    assert "1 rule" in cli.ok("permit", "ticket-7")


def test_taking_away_what_is_not_there_says_so_and_changes_nothing(cli: Cli) -> None:
    cli.ok("permit", "ticket-7", "bash", "git *")
    before = column(cli)
    assert "no rule bash ls *" in cli.refused("permit", "ticket-7", "bash", "ls *", "--remove", code=1)
    assert "no rule bash *;" in cli.refused("permit", "ticket-7", "bash", "*", "--remove", code=1)
    assert "no rule deny bash git *" in cli.refused("permit", "ticket-7", "bash", "git *", "--deny", "--remove", code=1)
    assert column(cli) == before


def test_a_rule_cannot_act_on_the_terminal(cli: Cli) -> None:
    said = cli.ok("permit", "ticket-7", "bash\x1b[2J", "git\x1b]0;owned\x07 *")
    assert "\x1b" not in said and "\x07" not in said


@pytest.mark.parametrize("odd", ['[1,{"a":1},{"permission":"x","pattern":"*","action":"deny"}]', '{"a":1}', "not json"])
def test_what_another_program_left_there_is_no_traceback(cli: Cli, odd: str) -> None:
    connection = sqlite3.connect(Path(cli.home) / "talks.db")
    with connection:
        connection.execute("UPDATE chat_sessions SET permissions_json = ?", (odd,))
    connection.close()
    for arguments in ((), ("bash", "git *"), ("x", "*", "--remove")):
        done = cli("permit", "ticket-7", *arguments)
        assert "Traceback" not in done.err
        assert done.code == 0 or done.err.startswith("palaver: ")
