"""The first opening of a file, by many processes in the same moment: the schema is made or brought up to date once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import palaver
from palaver.db import migrate
from tests.migrations.old import FORK, SAID, TALK, version_1

from ..tools.puppet import Puppet
from .crowd import CREW

OPENERS = 16
WHAT_THE_OPENERS_LEFT = """
SELECT count(DISTINCT s.id), count(m.id) FROM chat_sessions s JOIN chat_messages m ON m.session_id = s.id
 WHERE s.agent = 'opener'
"""


@pytest.fixture(scope="module")
def crowd() -> Iterator[list[Puppet]]:
    """Sixteen processes that open what they are told to, all at once."""
    with CREW.ready([{"job": "open_files"}] * OPENERS) as started:
        for worker in started:
            worker.tell()
        yield started


def open_at_once(crowd: list[Puppet], path: str) -> list[str]:
    """What the sixteen said that did not get it open."""
    for worker in crowd:
        worker.tell(path)
    return [said for said in [worker.hear() for worker in crowd] if said != "ok"]


def nothing(path: str) -> None:
    """There is no file yet."""


def rounds(crowd: list[Puppet], folder: Path, make: Callable[[str], None], count: int) -> str:
    """Round after round on a new file; the last one."""
    for number in range(count):
        path = str(folder / f"{number}.db")
        make(path)
        assert open_at_once(crowd, path) == [], f"round {number}"
        assert is_whole(path), f"round {number}"
    return path


def is_whole(path: str) -> bool:
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    there = db.execute(WHAT_THE_OPENERS_LEFT).fetchall()
    versions = db.execute("SELECT version FROM schema_migrations ORDER BY version").fetchall()
    mode = db.execute("PRAGMA journal_mode").fetchall()
    db.close()
    wanted = [(version,) for version in range(1, migrate.VERSION + 1)]
    return there == [(OPENERS, OPENERS)] and versions == wanted and mode == [("wal",)]


# ---------------------------------------------------------------- a file that is not there yet

alone = pytest.mark.xdist_group("load")


@alone
def test_sixteen_processes_make_a_fresh_file_at_once(crowd: list[Puppet], tmp_path: Path) -> None:
    path = rounds(crowd, tmp_path, nothing, 5)
    with palaver.open(path) as store:
        assert store.verify() == []


@pytest.mark.long
@alone
def test_sixteen_processes_make_a_fresh_file_at_once_a_thousand_times(crowd: list[Puppet], tmp_path: Path) -> None:
    rounds(crowd, tmp_path, nothing, 1000)


# ---------------------------------------------------------------- a file of version 1


@pytest.mark.long
@alone
def test_sixteen_processes_bring_an_old_file_up_to_date_at_once(crowd: list[Puppet], tmp_path: Path) -> None:
    path = rounds(crowd, tmp_path, version_1, 5)
    with palaver.open(path) as store:
        assert store.verify() == []
        for session_id in (TALK, FORK):
            assert [m["parts"][-1]["text"] for m in store.sessions.get(session_id).messages()] == SAID[session_id]


@pytest.mark.long
@alone
def test_sixteen_processes_bring_an_old_file_up_to_date_a_thousand_times(crowd: list[Puppet], tmp_path: Path) -> None:
    rounds(crowd, tmp_path, version_1, 1000)
