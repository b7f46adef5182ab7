"""The first opening of a file, by many processes in the same moment: the schema is made or brought up to date once.

`schema_v1.sql` is the schema of version 1 as it was, `talks_v1.sql` what that version wrote; both stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import palaver
from palaver.db import migrate

from .crowd import Worker, workers

HERE = Path(__file__).parent
OPENERS = 16
OLD = {
    "ses_1977420dc03000f48mtug3pPZP": ["What was it?", "It was the linker ", "And now?", "All good.", "first", "one "],
    "ses_1977420dc2b000gGJ5zC8xbRzV": ["What was it?", "It was the linker ", "In the fork"],
}
WHAT_THE_OPENERS_LEFT = """
SELECT count(DISTINCT s.id), count(m.id) FROM chat_sessions s JOIN chat_messages m ON m.session_id = s.id
 WHERE s.agent = 'opener'
"""
COLUMNS = 'SELECT m.name, c.name, c.type, c."notnull", c.pk FROM sqlite_schema m, pragma_table_xinfo(m.name) c'
INDEXES = "SELECT m.tbl_name, m.name, c.name FROM sqlite_schema m, pragma_index_xinfo(m.name) c WHERE m.type = 'index'"
WAITING = ("ses_1977420dc5f000S6Fa34kfoHcJ", "trn_1977420dc65000iK1jX2plEhbY")


@pytest.fixture(scope="module")
def crowd() -> Iterator[list[Worker]]:
    """Sixteen processes that open what they are told to, all at once."""
    with workers([{"job": "open_"}] * OPENERS) as started:
        for worker in started:
            worker.tell()
        yield started


def open_at_once(crowd: list[Worker], path: str) -> list[str]:
    """What the sixteen said that did not get it open."""
    for worker in crowd:
        worker.tell(path)
    return [said for said in [worker.hear() for worker in crowd] if said != "ok"]


def nothing(path: str) -> None:
    """There is no file yet."""


def old_file(path: str) -> None:
    db = apsw.Connection(path)
    db.execute("PRAGMA page_size=2048; PRAGMA journal_mode=WAL").fetchall()
    db.execute((HERE / "schema_v1.sql").read_text() + (HERE / "talks_v1.sql").read_text())
    db.close()


def rounds(crowd: list[Worker], folder: Path, make: Callable[[str], None], count: int) -> str:
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


def schema_of(path: str) -> set[tuple[str, ...]]:
    """Every table with its columns, and every index, as the catalogue has them."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    found = {tuple(map(str, row)) for sql in (COLUMNS, INDEXES) for row in db.execute(sql)}
    db.close()
    return found


# ---------------------------------------------------------------- a file that is not there yet

alone = pytest.mark.xdist_group("load")


@alone
def test_sixteen_processes_make_a_fresh_file_at_once(crowd: list[Worker], tmp_path: Path) -> None:
    path = rounds(crowd, tmp_path, nothing, 25)
    with palaver.open(path) as store:
        assert store.verify() == []


@pytest.mark.long
@alone
def test_sixteen_processes_make_a_fresh_file_at_once_a_thousand_times(crowd: list[Worker], tmp_path: Path) -> None:
    rounds(crowd, tmp_path, nothing, 1000)


# ---------------------------------------------------------------- a file of version 1


@alone
def test_sixteen_processes_bring_an_old_file_up_to_date_at_once(crowd: list[Worker], tmp_path: Path) -> None:
    path = rounds(crowd, tmp_path, old_file, 25)
    with palaver.open(path) as store:
        assert store.verify() == []
        for session_id, said in OLD.items():
            assert [m["parts"][-1]["text"] for m in store.sessions.get(session_id).messages()] == said


@pytest.mark.long
@alone
def test_sixteen_processes_bring_an_old_file_up_to_date_a_thousand_times(crowd: list[Worker], tmp_path: Path) -> None:
    rounds(crowd, tmp_path, old_file, 1000)


def test_an_old_file_has_the_schema_of_a_new_one_afterwards(tmp_path: Path) -> None:
    old, new = str(tmp_path / "old.db"), str(tmp_path / "new.db")
    old_file(old)
    assert schema_of(old) != set()
    for path in (old, new):
        palaver.open(path).close()
    assert schema_of(old) == schema_of(new)


def test_what_waited_in_an_old_file_goes_on(tmp_path: Path) -> None:
    path, (session_id, turn_id) = str(tmp_path / "old.db"), WAITING
    old_file(path)
    with palaver.open(path) as store:
        session = store.sessions.get(session_id)
        assert [turn.id for turn in session.waiting()] == [turn_id]
        with session.resume(turn_id) as turn:
            turn.resolve("c1", output="yes")
        assert session.messages()[-1]["parts"][-1]["output"] == "yes"
        assert [turn.status for turn in session.path()] == ["completed"]
        assert store.verify() == []
