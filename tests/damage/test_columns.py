"""Any column of any row may hold anything in a file: nobody who reads is brought down, and verify names such turns."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import palaver
from palaver import PalaverError, Store, exports

from ..tools.sql import column, execute

VALUES = ("x'00'", "'abc'", "-1", "NULL")
OURS = ("turns", "turn_entries", "heads", "reflog", "events", "usage", "compactions", "session_facts", "copies")
TABLES = (*OURS, "chat_sessions", "chat_messages", "chat_parts")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store with a bit of everything, as a file."""
    path = tmp_path_factory.mktemp("whole") / "whole.db"
    with palaver.open(str(path)) as store:
        session = store.sessions.create("a", title="Whole", project="p")
        session.commit(["one", {"role": "assistant", "content": "two"}])
        with session.turn("three") as turn:
            turn.text("four")
            turn.tool("run", {"a": 1}).output("five")
            turn.usage(input=1, output=2, cost_usd=0.5)
        session.fork(copy=True).commit("six")
        session.compact("so far")
        session.edit(session.messages()[2]["id"], "seven").abort("no")
        with session.turn("eight") as turn:
            turn.tool("run", {}).ask()
        assert store.verify() == []
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def damages(path: Path, tables: tuple[str, ...]) -> Iterator[tuple[str, str, str, int]]:
    """Every column of these tables, with values (of turns: all of them) and a number for the row."""
    chance = random.Random(7)
    for table in tables:
        for name in column(path, f"SELECT name FROM pragma_table_info('{table}')"):
            for value in VALUES if table == "turns" else chance.sample(VALUES, 2):
                yield table, name, value, chance.randrange(1 << 30)


def damage(path: Path, table: str, column: str, value: str, number: int) -> bool:
    """Whether the table took it."""
    with closing(sqlite3.connect(path)) as connection:
        key = ", ".join(name for _, name, *_, place in connection.execute(f"PRAGMA table_info({table})") if place)
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        one = f"SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {number % count}"
        try:
            connection.execute(f'UPDATE {table} SET "{column}" = {value} WHERE ({key}) = ({one})')
        except sqlite3.IntegrityError:
            return False
        connection.commit()
    return True


def read_everything(store: Store) -> None:
    store.verify()
    for info in store.sessions.list():
        session = store.sessions.get(info.id)
        for look in (session.history, session.tree, session.path, session.messages, session.waiting, session.usage):
            list(look())
        assert "".join(exports.inspect(store.db, session.id))


@pytest.mark.parametrize("tables", [("turns",), OURS[1:], TABLES[len(OURS) :]], ids=["turns", "ours", "contract"])
def test_no_value_of_a_column_brings_a_reader_down(whole: bytes, tmp_path: Path, tables: tuple[str, ...]) -> None:
    path, fell = tmp_path / "damaged.db", list[str]()
    path.write_bytes(whole)
    for case in list(damages(path, tables)):
        path.write_bytes(whole)
        if not damage(path, *case):
            continue
        try:
            with palaver.open(str(path), readonly=True) as store:
                read_everything(store)
        except PalaverError:
            pass  # it says what is wrong
        except Exception as error:
            fell.append(f"{case}: {error!r}")
    assert fell == []


@pytest.mark.parametrize("name", ["input_tokens", "depth", "thread_calls", "sealed_at", "digest", "cost_usd"])
def test_verify_names_the_turn_and_the_column(whole: bytes, tmp_path: Path, name: str) -> None:
    path = tmp_path / "damaged.db"
    path.write_bytes(whole)
    execute(str(path), f"UPDATE turns SET {name} = 'abc' WHERE depth = 1")
    with palaver.open(str(path), readonly=True) as store:
        found = [problem for problem in store.verify() if problem.rule == "type"]
    assert found and all(name in problem.what and problem.where.startswith("trn_") for problem in found)
