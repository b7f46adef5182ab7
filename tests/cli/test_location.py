"""Where the store is, and what happens when it is not there, not a store, or not whole."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from . import talks
from .run import Cli

READING = [
    ("ls",),
    ("show", "@"),
    ("tail", "@"),
    ("verify",),
    ("export", "-o", "out.jsonl"),
    ("adopt",),
    ("undo", "@"),
]


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_a_command_that_looks_never_makes_a_store(bare: Cli, command: tuple[str, ...]) -> None:
    said = bare.refused(*command, code=4)
    assert "there is no store at" in said and ".palaver/palaver.db" in said
    assert list(bare.home.iterdir()) == []


def test_the_option_comes_before_the_environment(bare: Cli, filled: Path) -> None:
    shutil.copy(filled, bare.home / "here.db")
    elsewhere = {"PALAVER_STORE": str(bare.home / "nowhere.db"), "PALAVER_HOME": str(bare.home / "no")}
    assert len(bare.json("ls", "--store", "here.db", **elsewhere)["sessions"]) == 2
    assert len(bare.json("--store", "here.db", "ls", **elsewhere)["sessions"]) == 2
    assert "nowhere.db" in bare.refused("ls", code=4, **elsewhere)


def test_home_is_where_the_store_is_by_default(bare: Cli, filled: Path) -> None:
    (bare.home / ".palaver").mkdir()
    (bare.home / "mine").mkdir()
    shutil.copy(filled, bare.home / ".palaver" / "palaver.db")
    shutil.copy(filled, bare.home / "mine" / "palaver.db")
    assert len(bare.json("ls")["sessions"]) == 2
    bare.ok("rm", "@", PALAVER_HOME=str(bare.home / "mine"))
    assert len(bare.json("ls", PALAVER_HOME="~/mine")["sessions"]) == 1
    assert len(bare.json("ls")["sessions"]) == 2


def test_a_directory_is_not_a_store(bare: Cli) -> None:
    said = bare.refused("ls", "-s", str(bare.home), code=4)
    assert "is a directory" in said


def test_a_text_file_is_not_a_store_and_stays_as_it_is(bare: Cli) -> None:
    (bare.home / "notes.txt").write_text("my notes, which are longer than nothing\n" * 40)
    before = (bare.home / "notes.txt").read_bytes()
    assert "is not a SQLite database" in bare.refused("ls", "-s", "notes.txt", code=4)
    assert (bare.home / "notes.txt").read_bytes() == before


def test_another_programs_database_is_refused_and_stays_as_it_is(bare: Cli) -> None:
    path = bare.home / "places.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = path.read_bytes()
    bare.refused("ls", "-s", str(path), code=4)
    assert path.read_bytes() == before


def test_a_damaged_store_is_said_to_be_damaged(cli: Cli) -> None:
    path = cli.home / "talks.db"
    data = bytearray(path.read_bytes())
    data[2048:] = b"\xff" * (len(data) - 2048)
    path.write_bytes(data)
    done = cli("verify")
    assert done.code == 4
    assert "Traceback" not in done.err and done.err.startswith("palaver: ")


def test_a_url_of_an_engine_that_is_not_there_is_refused(bare: Cli) -> None:
    assert "not supported" in bare.refused("ls", "-s", "mysql://x/y", code=2)


def test_import_makes_the_store_private_and_its_directory_too(bare: Cli, tmp_path: Path) -> None:
    talks.small(tmp_path / "from.db")
    bare.ok("export", "-s", "from.db", "-o", "talks.jsonl")
    bare.ok("import", "talks.jsonl", PALAVER_HOME=str(tmp_path / "new" / "home"))
    made = tmp_path / "new" / "home"
    assert made.stat().st_mode & 0o777 == 0o700
    assert (made / "palaver.db").stat().st_mode & 0o777 == 0o600


def test_a_store_in_memory_is_none_for_a_command(bare: Cli) -> None:
    for words in (("ls",), ("show", "@"), ("adopt",), ("verify",)):
        assert "ends with the process that made it" in bare.refused(*words, "-s", ":memory:", code=2)
    said = bare.refused("show", "@", "-s", "http://127.0.0.1/talks", code=2)
    assert "give a path, or postgresql://" in said and "memory" not in said


def test_doctor_gives_no_advice_about_what_is_no_store(bare: Cli) -> None:
    (bare.home / "env.sh").write_text("export A=b")
    (bare.home / "env.sh").chmod(0o644)
    for name, what in ((".", "a directory"), ("env.sh", "no SQLite database"), ("/dev/null", "a device")):
        done = bare("doctor", "-s", name)
        assert done.code == 4 and f"is {what}" in done.out
        assert "chmod" not in done.out and "hard links" not in done.out and "name the file of a store" in done.out
