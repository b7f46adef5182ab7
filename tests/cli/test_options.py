"""Options that contradict each other, or say only half, are refused: nothing is guessed, and nothing is changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .run import Cli

CONFLICTS = [
    ("permit", "ticket-7", "bash", "git *", "--deny", "--allow"),
    ("permit", "ticket-7", "--deny"),
    ("permit", "ticket-7", "bash", "--ask"),
    ("compact", "ticket-7", "x", "--keep", "1", "--keep-from", "@{1}"),
    ("compact", "ticket-7", "x", "--keep", "0", "--keep-from", "nope"),
    ("compact", "ticket-7", "x", "--keep", "-1"),
    ("compact", "ticket-7", ""),
    ("rewind", "ticket-7~1", "--to", "~2"),
    ("rewind", "ticket-7"),
    ("fork", "ticket-7~1", "--at", "~2"),
    ("fork", "ticket-7", "--title", ""),
    ("queue", "ticket-7", "text", "--cancel", "m1"),
    ("queue", "ticket-7", "--id", "m1"),
    ("queue", "ticket-7", "--cancel", "m1", "--id", "m1"),
    ("queue", "ticket-7", ""),
    ("queue", "ticket-7", " \n"),
    ("title", "ticket-7", "New", "--clear"),
    ("title", "ticket-7", "--next", "--clear"),
    ("title", "ticket-7", "", "--next"),
    ("alias", "ticket-7", "--remove"),
    ("rm", "--list", "ticket-7"),
    ("rm", "--list", "--undo"),
    ("rm",),
    ("rm", "ticket-7", "--older-than", "1d", "--yes"),
    ("rm", "--older-than", "1d", "--undo"),
    ("rm", "--older-than", "1d", "--list"),
    ("rm", "--ended", "--yes"),
    ("rm", "ticket-7", "--ended", "--yes"),
    ("rm", "ticket-7", "--source", "api", "--yes"),
    ("rm", "ticket-7", "--all", "--yes"),
    *(
        ("rm", "--older-than", age, "--yes")
        for age in ("", "90", "d", "-1d", "0d", "1.5d", "1y", "1D", "٣d", "1234567d")
    ),
    ("archive",),
    ("sql", "SELECT 1", "--csv", "--json"),
    ("export", "--json"),
    ("export", "ticket-7", "--format", "markdown", "--json"),
    ("copy", "talks.db", ""),
    ("copy", "", "copied.db"),
    ("space", "ls", "talks.db", "more"),
    ("space", "create"),
    ("show", "ticket-7", "--store", ""),
    ("show", "ticket-7", "-C", "2"),
    ("show", "ticket-7~1", "-C", "2"),
    ("search",),
    ("search", ""),
    ("search", " ", "  "),
    ("search", "linker", "--limit", "1001"),
    ("search", "linker", "-n", "9" * 5000),
    ("search", "linker", "--after", "no cursor"),
    ("search", "linker", "-nope"),
    ("search", "after:yesterdayish"),
    ("search", "linker", "--max-tokens", "1"),
    ("ls", "--store", ""),
    ("show", "ticket-7", "--space", ""),
    ("ls", "--space", "acme"),
    ("--store", "talks.db", "copy", "talks.db", "copied.db"),
    ("--space", "acme", "copy", "talks.db", "copied.db"),
    ("--store", "talks.db", "demo"),
    ("--space", "acme", "demo"),
    ("--store", "talks.db", "completion", "bash"),
    ("--space", "acme", "space", "ls"),
    ("--store", "postgresql://localhost/x", "space", "ls", "postgresql://localhost/x"),
    ("space",),
]


@pytest.mark.parametrize("words", CONFLICTS, ids=" ".join)
def test_it_is_refused_with_a_sentence_and_changes_nothing(cli: Cli, words: tuple[str, ...]) -> None:
    before = (cli.home / "talks.db").read_bytes()
    done = cli(*words)
    assert done.code == 2 and done.out == "", (done.code, done.out, done.err)
    said = json.loads(done.err)["error"]["message"] if "--json" in words else done.err
    assert len(said) > 20 and "Traceback" not in said
    assert (cli.home / "talks.db").read_bytes() == before
    assert not (cli.home / "copied.db").exists()


def test_an_empty_message_is_not_sent(cli: Cli) -> None:
    assert "an empty message is not sent" in cli.refused("queue", "ticket-7", "", code=2)
    assert cli.json("queue", "ticket-7") == {"queue": []}


def test_an_empty_option_is_no_other_store(bare: Cli, filled: Path) -> None:
    """`--store "$MINE"` where MINE is empty must not be somebody's default store."""
    (bare.home / ".palaver").mkdir()
    shutil.copy(filled, bare.home / ".palaver" / "palaver.db")
    for words in (("ls", "--store", ""), ("--store", "", "ls"), ("rm", "@", "-s", ""), ("-s", "", "rm", "@")):
        assert "this one is empty" in bare.refused(*words, code=2)
    assert len(bare.json("ls")["sessions"]) == 2


def test_an_empty_variable_is_none(bare: Cli, filled: Path) -> None:
    (bare.home / ".palaver").mkdir()
    shutil.copy(filled, bare.home / ".palaver" / "palaver.db")
    assert len(bare.json("ls", PALAVER_STORE="", PALAVER_HOME="", PALAVER_SPACE="")["sessions"]) == 2
    assert bare.json("ls", PALAVER_STORE="") == bare.json("ls")  # for a person it tells how long ago


def test_a_number_that_is_none_or_out_of_bounds_is_told_what_is_wanted(cli: Cli) -> None:
    for given in ("x", "0", "10001", "1.5", "9" * 5000):
        said = cli.refused("ls", "-n", given, code=2)
        assert f"it takes a whole number from 1 to 10,000, not '{given}'" in said
    assert "a whole number from 0 on, not 'x'" in cli.refused("tail", "@", "-n", "x", code=2)
