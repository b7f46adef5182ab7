"""Fork, rewind, undo, redo, archive, rm, adopt, materialise, verify: what changes, and what is refused."""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path

import pytest

import palaver
from palaver.cli.ui import progress

from .run import Cli
from .terminal import Terminal


def last(cli: Cli, name: str = "ticket-7") -> str:
    text: str = cli.json("show", name)["messages"][-1]["parts"][-1]["text"]
    return text.strip()


def test_a_fork_shares_everything_up_to_a_turn(cli: Cli) -> None:
    made = cli.json("fork", "ticket-7~1", "--title", "Another way")["session"]
    assert (made["title"], made["relation"], made["turns"], made["messages"]) == ("Another way", "fork", 2, 4)
    assert last(cli, made["id"]) == "Done."
    assert last(cli) == "Green."


def test_a_stray_is_rescued_by_its_short_id(cli: Cli) -> None:
    stray = next(turn for turn in cli.json("tree", "ticket-7")["turns"] if turn["mark"] == "stray")
    made = cli.json("fork", "ticket-7", "--at", stray["id"][-6:])["session"]
    assert last(cli, made["id"]) == "Red."


def test_a_fork_at_a_message_ends_with_it(cli: Cli) -> None:
    question = cli.json("show", "ticket-7")["messages"][2]["id"]
    made = cli.json("fork", "ticket-7", "--at", question[-8:])["session"]
    assert last(cli, made["id"]) == "Add it."


def test_rewind_undo_and_redo(cli: Cli) -> None:
    cli.ok("rewind", "ticket-7~2")
    assert last(cli) == "The linker flag is missing."
    assert "3 turns" in cli.ok("undo", "ticket-7")
    assert last(cli) == "Green."
    cli.ok("redo", "ticket-7")
    assert last(cli) == "The linker flag is missing."
    assert "nothing to redo" in cli.refused("redo", "ticket-7", code=5)


def test_rewind_to_a_message_keeps_it(cli: Cli) -> None:
    wanted = cli.json("show", "ticket-7")["messages"][2]["id"]
    cli.ok("rewind", "ticket-7", "--to", wanted)
    assert last(cli) == "Add it."


def test_rewind_needs_a_place_and_only_one(cli: Cli) -> None:
    assert "say where to" in cli.refused("rewind", "ticket-7", code=2)
    assert "name the place once" in cli.refused("rewind", "ticket-7~1", "--to", "~2", code=2)
    cli.refused("rewind", "ticket-7", "--to", "trn_nowhere", code=3)
    cli.refused("fork", "ticket-7", "--at", "msg_nowhere", code=3)


def test_another_branch_is_not_on_the_path(cli: Cli) -> None:
    stray = next(turn for turn in cli.json("tree", "ticket-7")["turns"] if turn["mark"] == "stray")
    assert "not on the path" in cli.refused("rewind", "ticket-7", "--to", stray["id"], code=3)


def test_a_lost_race_is_a_conflict(cli: Cli) -> None:
    revision = cli.json("show", "ticket-7")["session"]["revision"]
    said = cli.refused("undo", "ticket-7", "--expected", str(revision - 1), code=5)
    assert "another writer was first" in said
    cli.ok("undo", "ticket-7", "--expected", str(revision))


def test_what_is_archived_cannot_be_moved(cli: Cli) -> None:
    cli.ok("archive", "ticket-7")
    assert "archived and read-only" in cli.refused("undo", "ticket-7", code=5)


def test_rm_asks_on_a_terminal_and_takes_no_for_an_answer(cli: Cli) -> None:
    for key, code, left in [("n", 1, 2), ("y", 0, 1)]:
        with Terminal(cli.env, "rm", "ticket-7") as terminal:
            terminal.until("Delete 1 session?")
            terminal.type(key + "\r")
            ended, seen = terminal.end()
        assert ended == code and ("nothing was deleted" in seen) == (key == "n")
        assert len(cli.json("ls")["sessions"]) == left


def test_rm_does_not_ask_when_told_so(cli: Cli) -> None:
    with Terminal(cli.env, "rm", "-y", "ticket-7") as terminal:
        assert terminal.end()[0] == 0
    assert len(cli.json("ls")["sessions"]) == 1


def test_rm_takes_all_or_none_of_the_names(cli: Cli) -> None:
    cli.refused("rm", "ticket-7", "no such name", code=3)
    assert len(cli.json("ls")["sessions"]) == 2
    both = [one["id"] for one in cli.json("ls")["sessions"]]
    cli.ok("rm", *both)
    assert cli.json("ls")["sessions"] == []
    cli.ok("rm", "--undo", both[0])
    assert "is not deleted" in cli.refused("rm", "--undo", both[0], code=5)


def loose_row(path: Path, session: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(
            "INSERT INTO chat_messages VALUES ('other-1', ?, 'user', '{}', 4000000000000, 4000000000000)", (session,)
        )
    connection.close()


def test_adopt_makes_turns_of_another_programs_rows(cli: Cli) -> None:
    session = cli.json("show", "ticket-7")["session"]["id"]
    loose_row(cli.home / "talks.db", session)
    assert cli.json("show", "ticket-7")["messages"][-1]["id"] == "other-1"
    assert cli.ok("adopt", "ticket-7") == "adopted rows in 1 session\n"
    assert cli.ok("adopt") == "nothing to adopt\n"
    assert cli.json("tree", "ticket-7")["turns"][-1]["kind"] == "foreign"


def test_materialise_copies_what_a_fork_shares_once(cli: Cli) -> None:
    fork = cli.json("ls", "--parent", "ticket-7")["sessions"][0]["id"]
    assert cli.json("materialise", fork)["copied"] == 2
    assert cli.json("materialise", fork)["copied"] == 0
    assert cli.json("verify")["problems"] == []


def test_a_fork_may_be_copied_at_once(cli: Cli) -> None:
    made = cli.json("fork", "ticket-7", "--copy")["session"]["id"]
    rows = cli.json("sql", f"SELECT count(*) FROM chat_messages WHERE session_id = '{made}'")["rows"]
    assert rows == [[6]]


def deface(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def test_verify_finds_what_was_altered_and_never_touches_it(cli: Cli) -> None:
    assert cli.ok("verify") == "everything fits\n"
    deface(cli.home / "talks.db", "UPDATE chat_parts SET data_json = replace(data_json, 'missing', 'fine')")
    done = cli("verify")
    assert done.code == 1 and "RECORD altered" in done.out and "found 1 problem\n" in done.out
    assert cli("verify", "--fix").code == 1
    problems = cli("verify", "--json").json()["problems"]
    assert [(one["rule"], one["copy"]) for one in problems] == [("altered", False)]


def test_verify_fix_rewrites_copies(cli: Cli) -> None:
    deface(cli.home / "talks.db", "UPDATE chat_sessions SET prompt_tokens = 99, total_tokens = 99")
    assert cli("verify").code == 1
    fixed = cli("verify", "--fix")
    assert (fixed.code, fixed.out) == (0, "rewrote 2 copies\neverything fits\n")
    assert cli.ok("verify") == "everything fits\n"


def test_verify_says_which_session_a_problem_is_in(cli: Cli) -> None:
    deface(cli.home / "talks.db", "UPDATE heads SET preview = 'something else'")
    done, problems = cli("verify"), cli("verify", "--json").json()["problems"]
    assert [problem["rule"] for problem in problems] == ["preview"]
    assert f"{problems[0]['what']} ({problems[0]['where']})\n" in done.out


def test_a_quick_verify_says_nothing_on_the_way(cli: Cli) -> None:
    assert cli("verify").err == ""


def look_at_a_turn_each_second(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    with progress.VerifyProgress() as looked:
        for second in range(1, seconds + 1):
            now[0] = second
            looked(1_000 * second, second > 3)


def test_verify_that_takes_long_shows_how_far_it_is_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    look_at_a_turn_each_second(monkeypatch, 4)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert list(dict.fromkeys(re.findall(r"looked at ([\d,]+ turns, \d sessions?) ", shown))) == SEEN


SEEN = ["2,000 turns, 0 sessions", "3,000 turns, 0 sessions", "4,000 turns, 1 session"]


def test_verify_that_takes_long_says_so_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    look_at_a_turn_each_second(monkeypatch, 25)
    assert capsys.readouterr().err == (
        "looked at 10,000 turns, 1 session so far\nlooked at 20,000 turns, 1 session so far\n"
    )


def test_a_busy_store_is_a_conflict_and_not_a_damage(cli: Cli) -> None:
    """The deadline itself is the library's; here, only its exit code."""
    from palaver.cli.exits import code_of

    assert code_of(palaver.StoreBusy("x", None, 1.0)) == 5
    assert code_of(palaver.StoreCorrupt("x")) == 4
