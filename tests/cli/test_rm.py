"""`palaver rm`: what was deleted is listed, and the last one comes back by the name it went by."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import palaver

from .run import COMMAND, Cli
from .terminal import Terminal
from .test_moves import last


def ids(cli: Cli) -> list[str]:
    return [one["id"] for one in cli.json("ls")["sessions"]]


def test_the_session_that_was_deleted_last_comes_back_as_the_latest(cli: Cli) -> None:
    latest, other = ids(cli)
    cli.ok("rm", "@")
    assert ids(cli) == [other]
    assert latest[-6:] in cli.ok("rm", "--undo", "@")
    assert set(ids(cli)) == {latest, other} and last(cli) == "Green."
    assert "no deleted session is named '@'" in cli.refused("rm", "--undo", "@", code=3)


def test_each_undo_brings_back_one_more(cli: Cli) -> None:
    latest, other = ids(cli)
    cli.ok("rm", latest)
    cli.ok("rm", other)
    cli.ok("rm", "--undo", "@")
    assert ids(cli) == [other]
    cli.ok("rm", "--undo", "@")
    assert set(ids(cli)) == {latest, other}


def test_deleted_sessions_are_listed_with_when_and_what(cli: Cli) -> None:
    assert cli.ok("rm", "--list") == ""
    assert cli.json("rm", "--list") == {"sessions": []}
    latest, other = ids(cli)
    cli.ok("rm", latest)
    cli.ok("rm", other)
    first, second = cli.ok("rm", "--list").splitlines()
    assert re.fullmatch(rf"{other} \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d .+", first)
    assert second.startswith(latest) and second.endswith(" Fix the build")
    listed = cli.json("rm", "--list")["sessions"]
    assert [one["id"] for one in listed] == [other, latest] and all(one["deleted_at"] for one in listed)
    cli.ok("rm", "--undo", other)
    assert [one["id"] for one in cli.json("rm", "--list")["sessions"]] == [latest]


@pytest.mark.parametrize("command", ["rm", "archive"])
def test_a_session_that_is_named_twice_is_done_once(cli: Cli, command: str) -> None:
    said = cli.ok(command, "ticket-7", "the-build", "ticket-7")
    assert re.fullmatch(r"(deleted|archived) \w{6}\n", said)
    assert len(ids(cli)) == 1


def test_what_was_done_before_one_was_refused_is_reported(cli: Cli) -> None:
    gone, living = ids(cli)
    cli.ok("rm", gone)
    done = cli("rm", "--undo", gone, living)
    assert done.code == 5 and "is not deleted" in done.err
    assert done.out == f"brought back {gone[-6:]}\n"


def test_an_archived_session_is_not_a_deleted_one(cli: Cli) -> None:
    cli.ok("archive", "ticket-7")
    assert cli.ok("rm", "--list") == ""


def test_what_came_along_with_an_import_was_never_deleted(cli: Cli) -> None:
    fork = cli.json("ls", "--parent", "ticket-7")["sessions"][0]["id"]
    cli.ok("export", fork, "-o", "fork.jsonl")
    cli.ok("import", "fork.jsonl", "-s", "other.db")
    assert cli.json("rm", "--list", "-s", "other.db") == {"sessions": []}


def test_a_title_that_a_living_and_a_deleted_session_share_is_clear_for_undo(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "talks.db") as store:
        gone, _ = (store.sessions.create(title="Same") for _ in range(2))
        gone.delete()
    cli = Cli(tmp_path, tmp_path / "talks.db")
    assert gone.id[-6:] in cli.ok("rm", "--undo", "Same")
    assert "is not deleted" in cli.refused("rm", "--undo", gone.id, code=5)


@pytest.mark.parametrize("words", [("--list", "@"), ("--list", "--undo"), (), ("--undo",)])
def test_half_a_command_is_refused_and_deletes_nothing(cli: Cli, words: tuple[str, ...]) -> None:
    cli.refused("rm", *words, code=2)
    assert len(ids(cli)) == 2


def test_an_unknown_deleted_session_is_told_where_to_look(cli: Cli) -> None:
    assert "`palaver rm --list`" in cli.refused("rm", "--undo", "nobody", code=3)


def test_it_is_said_what_is_deleted_before_it_is_asked_also_if_the_answer_goes_elsewhere(cli: Cli) -> None:
    """stdin and stderr are a terminal, stdout is a pipe: `palaver rm @ | cat`."""
    command = " ".join([*COMMAND, "rm", "@", "|", "cat"])
    with Terminal(cli.env, line=["sh", "-c", command]) as terminal:
        terminal.until("Delete 1 session?")
        seen = terminal.seen
        terminal.type("n\r")
        terminal.end()
    assert seen.index("Fix the build") < seen.index("Delete 1 session?")
    assert len(ids(cli)) == 2


def test_a_list_on_a_terminal_says_how_one_comes_back(cli: Cli) -> None:
    with Terminal(cli.env, "rm", "--list") as terminal:
        assert "nothing was deleted" in terminal.end()[1]
    cli.ok("rm", "@")
    with Terminal(cli.env, "rm", "--list") as terminal:
        assert "`palaver rm --undo` brings one back" in terminal.end()[1]


def test_what_is_as_it_was_asked_to_be_is_said_so(cli: Cli) -> None:
    done = cli("archive", "--undo", "ticket-7")
    assert (done.code, done.out) == (0, "") and "is not archived" in done.err
    assert cli.ok("archive", "ticket-7").startswith("archived ")
    done = cli("archive", "ticket-7")
    assert (done.code, done.out) == (0, "") and "archived already" in done.err
    assert cli.json("archive", "ticket-7")["sessions"][0]["app_id"] == "ticket-7"
