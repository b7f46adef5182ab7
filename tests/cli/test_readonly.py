"""Commands that look: they open the store to be read, change nothing, and work where nothing can be written."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import palaver
from tests.migrations import old
from tests.opening.elsewhere import mounted

from .run import COMMAND, Cli, Done

pytestmark = pytest.mark.on_disk

KILLED = """
import os, sys, palaver
store = palaver.open(sys.argv[1])
session = store.sessions.create("coder", title="Killed")
session.commit(["One?", {"role": "assistant", "parts": [{"type": "text", "text": "One."}]}])
turn = session.turn("Two?")
turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "Half a sen"}])
os._exit(9)
"""
LOOKING = [
    ("ls",),
    ("ls", "--json"),
    ("show", "@"),
    ("log", "@"),
    ("tree", "@"),
    ("search", "One"),
    ("search", "Half", "--json"),
    ("tail", "@"),
    ("export",),
    ("verify",),
    ("sql", "SELECT count(*) FROM turns"),
    ("context", "@"),
    ("queue", "@"),
    ("permit", "@"),
    ("permit", "@", "bash"),
    ("title", "@"),
    ("alias", "@", "--json"),
    ("rm", "--list", "--json"),
    ("lineage", "@"),
]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store whose writer was killed: a log, and an open turn."""
    folder = tmp_path_factory.mktemp("killed")
    palaver.open(folder / "talks.db").close()
    assert subprocess.run([sys.executable, "-c", KILLED, str(folder / "talks.db")], timeout=60).returncode == 9
    return folder


@pytest.fixture
def left(tmp_path: Path, killed: Path) -> Cli:
    """A copy of it."""
    folder = shutil.copytree(killed, tmp_path / "store")
    return Cli(tmp_path, folder / "talks.db", NO_COLOR="1")


def files(cli: Cli) -> dict[str, bytes]:
    """All but the index of the log, which is SQLite's to make and to mark."""
    found = (cli.home / "store").rglob("*")
    return {str(one): one.read_bytes() for one in found if one.is_file() and not one.name.endswith("-shm")}


def on_a_readonly_mount(cli: Cli, *args: str) -> Done:
    folder = cli.home / "tmp"
    folder.mkdir(exist_ok=True)
    run = subprocess.run(
        mounted(cli.home / "store", *COMMAND, *args),
        env={**cli.env, "TMPDIR": str(folder)},
        cwd=cli.home,
        capture_output=True,
        timeout=120,
    )
    assert list(folder.iterdir()) == []
    return Done(run.returncode, run.stdout.decode(), run.stderr.decode())


@pytest.mark.parametrize("command", LOOKING, ids=" ".join)
def test_a_command_that_looks_changes_nothing_and_recovers_nothing(left: Cli, command: tuple[str, ...]) -> None:
    before = files(left)
    done = left(*command)
    assert (done.code, done.err) == (0, "")
    assert done.out
    assert files(left) == before


def test_what_a_killed_writer_left_is_shown_and_the_next_writer_seals_it(left: Cli) -> None:
    assert "Half a sen" in left.ok("show", "@")
    assert "its writer died" in left.ok("tail", "@")
    assert [turn["mark"] for turn in left.json("tree", "@")["turns"]] == ["head", "open"]
    assert left.json("verify") == {"problems": [], "fixed": 0}
    left.ok("adopt")
    assert [turn["mark"] for turn in left.json("tree", "@")["turns"]] == ["path", "head"]


def test_verify_fix_still_writes(left: Cli) -> None:
    with sqlite3.connect(left.home / "store" / "talks.db") as db:
        db.execute("UPDATE heads SET preview = 'forged'")
    db.close()
    assert left("verify").code == 1
    assert left.json("verify", "--fix")["fixed"] == 1


AGE = re.compile(r"(?<= )(?:now|\d+[smhd])(?= )")  # which goes on


@pytest.mark.parametrize("command", LOOKING, ids=" ".join)
def test_every_command_that_looks_works_on_a_readonly_file_system(left: Cli, command: tuple[str, ...]) -> None:
    os.unlink(left.home / "store" / "talks.db-shm")
    done = on_a_readonly_mount(left, *command)
    assert done.code == 0, done.err
    assert AGE.sub("AGE", left(*command).out) == AGE.sub("AGE", done.out)
    assert "is read from a private copy" in done.err and done.err.count("\n") == 1


def test_a_note_is_a_sentence_for_people_and_json_for_programs(left: Cli) -> None:
    (left.home / "store" / "old.db").unlink(missing_ok=True)
    old.version_1(str(left.home / "store" / "old.db"))
    store = str(left.home / "store" / "old.db")
    for args in (("ls",), ("ls", "--limit", "3", "--workspace", "/nowhere")):  # at once, and the long way
        assert left(*args, "--store", store).err.startswith("palaver: note: ")
    told = left("ls", "--json", "--store", store)
    assert "private copy" in json.loads(told.err)["note"] and len(told.json()["sessions"]) == len(old.SAID)


def test_a_command_that_writes_says_why_it_cannot_on_a_readonly_file_system(left: Cli) -> None:
    done = on_a_readonly_mount(left, "undo", "@")
    assert done.code == 4 and done.err.startswith("palaver: ") and "Read-only file system" in done.err


def test_doctor_looks_where_nothing_can_be_written_and_seals_nothing(left: Cli) -> None:
    before = files(left)
    assert "1 streaming" in left.ok("doctor")
    assert files(left) == before
    done = on_a_readonly_mount(left, "doctor", "--json")
    assert done.code == 1 and done.json()["opens"]
    assert [one["check"] for one in done.json()["findings"] if not one["ok"]] == ["permissions", "locks"]


def test_rebuild_check_only_looks(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o700)
    cli = Cli(tmp_path, tmp_path / "store" / "talks.db", NO_COLOR="1")
    with palaver.open(tmp_path / "store" / "talks.db", events="full") as store:
        store.sessions.create("coder").commit("One?")
    done = on_a_readonly_mount(cli, "rebuild", "--check")
    assert (done.code, done.out) == (0, "every row is as it was written\n")
    with sqlite3.connect(tmp_path / "store" / "talks.db") as db:
        db.execute("UPDATE chat_messages SET role = 'system'")
    db.close()
    assert on_a_readonly_mount(cli, "rebuild", "--check").code == 1
    assert on_a_readonly_mount(cli, "rebuild").code == 4
    assert cli.json("rebuild")["rebuilt"] > 0
