"""A place in a session is named as `palaver log` prints it, wherever a command takes one."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

import palaver

from . import talks
from .run import Cli
from .test_moves import last


def words(cli: Cli, name: str) -> str:
    return last(cli, name)


def test_every_line_of_the_log_is_a_name(cli: Cli) -> None:
    cli.ok("rewind", "ticket-7~2")
    printed = re.findall(r"^@\{\d+\}", cli.ok("log", "ticket-7"), re.MULTILINE)
    assert printed == ["@{4}", "@{3}", "@{2}", "@{1}", "@{0}"]
    shown = [words(cli, f"ticket-7{place}") for place in printed[:-1]]
    assert shown == ["The linker flag is missing.", "Green.", "Done.", "The linker flag is missing."]
    assert words(cli, "@{3}") == "Green."  # of the latest session


@pytest.mark.parametrize("name", ["ticket-7@{3}~1", "Fix the build@{2}", "@{3}@~1", "@@{2}", "the-build@{2}~0"])
def test_turns_are_counted_back_from_there_too(cli: Cli, name: str) -> None:
    assert words(cli, name) == "Done."


def test_what_a_place_does_not_hold_is_said(cli: Cli) -> None:
    assert "was never at @{9}; `palaver log" in cli.refused("show", "ticket-7@{9}", code=3)
    assert "held nothing at @{0}" in cli.refused("show", "ticket-7@{0}", code=3)
    assert "the path to @{2} has 2 turns" in cli.refused("show", "ticket-7@{2}~2", code=3)
    cli.refused("show", "ticket-7@{x}", code=3)
    cli.refused("show", "ticket-7@{99999999999999999999}", code=3)
    cli.refused("show", "nobody@{1}", code=3)


def test_a_circle_of_turns_that_another_program_made_is_no_endless_way(cli: Cli) -> None:
    with sqlite3.connect(cli.home / "talks.db") as connection:
        connection.execute(
            "UPDATE turns SET parent_id = (SELECT turn_id FROM heads WHERE revision = 3) WHERE depth = 1"
        )
    connection.close()
    assert cli("show", "ticket-7@{2}", timeout=20).code in (0, 3, 4)
    cli.refused("show", "ticket-7@{2}~9", code=3, timeout=20)


def test_a_fork_begins_there(cli: Cli) -> None:
    for options in (("ticket-7@{2}",), ("ticket-7", "--at", "@{2}"), ("ticket-7", "--at", "@{3}~1")):
        made = cli.json("fork", *options)["session"]
        assert (made["turns"], last(cli, made["id"])) == (2, "Done.")


def test_rewind_goes_there_also_on_a_branch_that_was_left(cli: Cli) -> None:
    cli.ok("rewind", "ticket-7@{1}")
    assert last(cli) == "The linker flag is missing."
    with palaver.open(cli.home / "talks.db") as store:
        talks.talk(store.sessions.get("ticket-7"), "Remove it.", "Removed.")
    cli.ok("rewind", "ticket-7", "--to", "@{3}", "--reason", "back")
    assert last(cli) == "Green." and "back" in cli.ok("log", "ticket-7").splitlines()[0]
    cli.ok("undo", "ticket-7")
    assert last(cli) == "Removed."


def test_who_says_a_revision_is_held_to_it_on_a_branch_that_was_left_too(cli: Cli) -> None:
    cli.ok("rewind", "ticket-7@{1}")
    with palaver.open(cli.home / "talks.db") as store:
        talks.talk(store.sessions.get("ticket-7"), "Remove it.", "Removed.")
    assert "another writer was first" in cli.refused("rewind", "ticket-7@{3}", "--expected", "4", code=5)
    cli.ok("rewind", "ticket-7@{3}", "--expected", "5")


def test_a_place_is_named_once(cli: Cli) -> None:
    assert "name the place once" in cli.refused("fork", "ticket-7@{2}", "--at", "@{1}", code=2)
    assert "name the place once" in cli.refused("fork", "ticket-7~1", "--at", "", code=2)


def test_a_page_for_people_ends_there_and_an_export_for_import_is_whole(cli: Cli) -> None:
    page = cli.ok("export", "ticket-7@{2}", "--format", "markdown")
    assert "Done." in page and "Green." not in page
    assert "Green." not in cli.ok("export", "ticket-7~1", "--format", "json")
    assert "Green." in cli.ok("export", "ticket-7", "--format", "markdown")
    said = cli.refused("export", "ticket-7@{2}", "-o", "x.jsonl", code=3)
    assert "a whole one is wanted" in said and "palaver fork" in said


def test_a_compaction_keeps_from_there(cli: Cli) -> None:
    cli.ok("compact", "ticket-7", "They talked.", "--keep-from", "@{3}")
    said = cli.ok("context", "ticket-7")
    assert "They talked." in said and "Green." in said and "Done." not in said


def test_a_command_that_takes_no_place_says_so(cli: Cli) -> None:
    for command in (("log", "ticket-7@{2}"), ("queue", "@~1", "More."), ("rm", "ticket-7~1")):
        assert "is a place in a session" in cli.refused(*command, code=3)
    assert len(cli.json("ls")["sessions"]) == 2


def test_what_no_turn_and_no_message_is_called_is_said_so(cli: Cli) -> None:
    for command in (
        ("fork", "ticket-7", "--at", "nope"),
        ("fork", "ticket-7", "--at", ""),
        ("fork", "ticket-7", "--at", "trn_nope"),
        ("rewind", "ticket-7", "--to", "nope"),
        ("compact", "ticket-7", "x", "--keep-from", "nope"),
    ):
        said = cli.refused(*command, code=3)
        assert "neither a turn nor a message of session" in said and "--detail" in said, said
    assert '"kind": "MessageNotFound"' in cli("fork", "ticket-7", "--at", "nope", "--json").err


def test_a_title_that_looks_like_a_line_of_the_log_is_still_a_title(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        store.sessions.create(title="Sprint@{2}")
    shown = Cli(tmp_path, tmp_path / "talks.db").json("show", "Sprint@{2}")
    assert (shown["session"]["title"], shown["turn"]) == ("Sprint@{2}", None)
