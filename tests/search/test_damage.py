"""A damaged index: an answer is right, or an error says that the index is damaged. Nothing is silently not there, and
whoever writes goes on; `reindex` makes it whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import apsw
import pytest

import palaver
from palaver.background import jobs
from palaver.core.search import sums
from palaver.core.upkeep import indexing

from ..tools import sql

WORDS = ("fox", "dog", "cat", "owl")
QUERIES = ("fox", "fox dog", '"fox number"', "numb*", "-owl -on", "owl OR cat", "role:user fox")
Damage = Callable[[apsw.Connection], None]


@pytest.fixture
def indexed(store: palaver.Store, monkeypatch: pytest.MonkeyPatch) -> palaver.Store:
    monkeypatch.setattr(jobs.Index, "due", lambda self, now: None)
    session = store.sessions.create()
    random = Random(7)
    for number in range(120):
        session.commit(f"{random.choice(WORDS)} number{number} {random.choice(WORDS)} " + "more words " * 20)
    store.reindex()
    return store


def answers(store: palaver.Store) -> dict[str, set[str]]:
    """What is found, by rank and newest first."""
    return {
        f"{order} {typed}": {hit.message_id for hit in store.search(typed, order=order, limit=1_000)}
        for typed in QUERIES
        for order in ("rank", "newest")
    }


def assert_right_or_told(store: palaver.Store, right: dict[str, set[str]]) -> None:
    for asked, expected in right.items():
        order, _, typed = asked.partition(" ")
        try:
            found = {hit.message_id for hit in store.search(typed, order=order, limit=1_000)}
        except palaver.IndexDamaged:
            continue
        assert found == expected, asked


def emptied(table: str) -> Damage:
    return lambda db: db.execute(f"DELETE FROM {table}") and None


def some_gone(table: str, key: str) -> Damage:
    return lambda db: db.execute(f"DELETE FROM {table} WHERE {key} % 3 = 0") and None


def dropped(table: str) -> Damage:
    return lambda db: db.execute(f"DROP TABLE {table}") and None


DAMAGES: dict[str, Damage] = {
    **{f"{name} is empty": emptied(f"document_words_{name}") for name in ("data", "idx", "docsize", "config")},
    **{f"{name} is gone": dropped(f"document_words_{name}") for name in ("data", "idx", "docsize", "config")},
    "documents is empty": emptied("documents"),
    "documents has lost some": some_gone("documents", "number"),
    "docsize has lost some": some_gone("document_words_docsize", "id"),
    "data has lost some": lambda db: db.execute("DELETE FROM document_words_data WHERE id > 10 AND id % 2") and None,
    "words are gone": lambda db: db.execute("DELETE FROM document_words") and None,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_told_and_mended(indexed: palaver.Store, damage: str) -> None:
    right = answers(indexed)
    with sql.writing(indexed.path) as db:
        db.execute("PRAGMA writable_schema = on")
        DAMAGES[damage](db)

    assert_right_or_told(indexed, right)
    session = indexed.sessions.create()
    session.commit("zebra on")
    assert session.messages()[0]["parts"][0]["text"] == "zebra on"
    indexed.reindex()
    assert answers(indexed) == right
    assert len(indexed.search("zebra").hits) == 1


TABLES = {
    "document_words_data": ("id", "block"),
    "document_words_idx": ("segid", "term", "pgno"),
    "document_words_config": ("k", "v"),
    "document_words_docsize": ("id", "sz", "origin"),
    "documents": ("number", "message_id", "role", "at", "newest", "checksum"),
}
FOUND_BY_SEARCH = ("document_words_data", "document_words_idx", "document_words_config")
MOST_ROWS = 12  # of a table, dealt out over it


def flipped(value: object, random: Random) -> object:
    """With one bit that is another."""
    if isinstance(value, bytes) and value:
        at = random.randrange(len(value))
        return value[:at] + bytes([value[at] ^ 1 << random.randrange(8)]) + value[at + 1 :]
    if isinstance(value, str) and value:
        at = random.randrange(len(value))
        return value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1 :]
    return value ^ 1 << random.randrange(20) if isinstance(value, int) else b"\0"


def rot(db: apsw.Connection, table: str, random: Random) -> Iterator[str]:
    """One value after the other, of each row; as it was before the next."""
    columns = TABLES[table]
    rows = db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    for row in rows[:: len(rows) // MOST_ROWS + 1]:
        for place, column in enumerate(columns):
            bad = [*row[:place], flipped(row[place], random), *row[place + 1 :]]
            put = ", ".join(f"{name} = ?" for name in columns)
            change = f"UPDATE OR IGNORE {table} SET {put} WHERE {' AND '.join(f'{name} IS ?' for name in columns)}"
            db.execute(change, (*bad, *row))
            if db.changes():
                yield f"{column} of {row[:1]}"
                db.execute(change, (*row, *bad))


@pytest.mark.parametrize("table", TABLES)
def test_every_flipped_bit_of_the_index_is_told(indexed: palaver.Store, table: str) -> None:
    """By the next search, where it would find less or something else; else by maintenance, and then by every search."""
    right = {f"rank {typed}": found(indexed, typed) for typed in ("fox", '"fox number7"', "numb*")}
    with sql.writing(indexed.path) as db:
        for what in rot(db, table, Random(table)):
            if table in FOUND_BY_SEARCH:
                with pytest.raises(palaver.IndexDamaged):
                    found(indexed, "fox")
            if table == "document_words_docsize" and not what.startswith("id"):
                assert_right_or_told(indexed, right)
            with pytest.raises(palaver.IndexDamaged), indexed.db.read() as tx:
                sums.refuse_any_other(tx)
    assert_right_or_told(indexed, right)


def test_without_checksums_some_of_it_would_not_be_told(
    indexed: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums.Checks, "some", lambda self, tx: None)
    right = answers(indexed)
    with sql.writing(indexed.path) as db, pytest.raises(AssertionError):
        for _ in rot(db, "document_words_data", Random(1)):
            assert_right_or_told(indexed, right)


def found(store: palaver.Store, typed: str) -> set[str]:
    return {hit.message_id for hit in store.search(typed, limit=1_000)}


def test_words_without_a_document_and_documents_of_nothing_are_told_by_the_search(indexed: palaver.Store) -> None:
    changes = ("number = 9999", "message_id = 'msg_other'", "part_id = 'prt_other'", "at = NULL", "message_id = x'ff'")
    for change in changes:
        with sql.writing(indexed.path) as db:
            db.execute("PRAGMA writable_schema = on")
            db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'documents'")
            db.execute("PRAGMA writable_schema = reset")
            db.execute(f"UPDATE documents SET {change} WHERE number = 7")
        with pytest.raises(palaver.IndexDamaged):
            indexed.search("fox OR dog OR cat OR owl", limit=1_000)
        indexed.reindex()


PAGES = "SELECT name, pageno FROM dbstat WHERE name LIKE 'document_words@_%' ESCAPE '@'"


@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_flipped_byte_of_the_file_is_told_and_goes_with_a_reindex(indexed: palaver.Store, few: bool) -> None:
    """Also where SQLite cannot read or even drop the table that the page belongs to. Few: the last page of each."""
    right, path, random = answers(indexed), Path(indexed.path), Random(3)
    indexed.close()
    sql.execute(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    size, whole, told = sql.one(path, "PRAGMA page_size"), path.read_bytes(), set[bool]()
    pages = sql.query(path, PAGES)
    for number in dict(pages).values() if few else [number for _, number in pages]:
        for place in (0, *random.sample(range(size), 1 if few else 9)):  # one in the head of the page
            at = (number - 1) * size + place
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
            with palaver.open(path) as store:
                told.add(is_told_or_right(store, right))
                store.reindex()
                assert answers(store) == right, (number, place)
    assert told == {True, False}


def is_told_or_right(store: palaver.Store, right: dict[str, set[str]]) -> bool:
    try:
        assert answers(store) == right
    except palaver.IndexDamaged:
        return True
    return False


def test_what_maintenance_finds_is_told_by_every_search_until_a_reindex(indexed: palaver.Store) -> None:
    right = answers(indexed)
    with sql.writing(indexed.path) as db:
        db.execute("UPDATE documents SET at = at + 1 WHERE number = 7")
    with pytest.raises(palaver.IndexDamaged):
        for _ in range(100):
            indexed._background.index.tend()
    for store in (indexed, palaver.open(indexed.path)):
        with pytest.raises(palaver.IndexDamaged):
            store.search("fox")
    assert [problem.rule for problem in indexed.verify() if problem.where == "document_words"] == ["search"]
    indexed.reindex()
    assert answers(indexed) == right
    assert indexed.verify() == []


def test_checksums_follow_whatever_is_written(indexed: palaver.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches, titles that change, merges, what is forgotten."""
    monkeypatch.setattr(indexing, "_TURNS", 3)
    monkeypatch.setattr(indexing, "_PAGES", 1)
    session = indexed.sessions.create()
    for number in range(40):
        session.commit(f"heron {number} " + "words " * 30)
    session.title = "first"
    indexed.reindex(only_missing=True)
    session.title = "second"
    indexed.reindex(only_missing=True)
    indexing.merge(indexed.db)
    with sql.writing(indexed.path, foreign_keys=True) as db:
        db.execute("DELETE FROM chat_messages WHERE session_id = ?", (session.id,))
    indexed.verify(fix=True)
    with indexed.db.read() as tx:
        assert sums.stored(tx) == sums.counted(tx)


def test_flipped_blocks_harm_no_writer_and_go_with_a_reindex(indexed: palaver.Store) -> None:
    right, random = answers(indexed), Random(11)
    blocks = sql.query(indexed.path, "SELECT id, block FROM document_words_data ORDER BY id")
    for _ in range(12):
        number, block = random.choice(blocks)
        put_block(indexed, number, random.randbytes(len(block)))
        assert is_told(indexed)
        indexed.sessions.create().commit("go on")
    indexed.reindex()
    assert answers(indexed) == right


def put_block(store: palaver.Store, number: int, block: bytes) -> None:
    with sql.writing(store.path) as db:
        db.execute("UPDATE document_words_data SET block = ? WHERE id = ?", (block, number))


def is_told(store: palaver.Store) -> bool:
    try:
        answers(store)
    except palaver.IndexDamaged:
        return True
    return False


def test_a_program_that_keeps_no_checksums_may_index_beside_us(indexed: palaver.Store) -> None:
    """One of schema 7, from before there were any: it writes to the index and counts that, and no more."""
    before = answers(indexed)
    for text in (
        "INSERT INTO document_words (document_words) VALUES ('optimize')",
        "UPDATE settings SET value = CAST(value AS INTEGER) + 1 WHERE name = 'search'",
    ):
        sql.execute(indexed.path, text)
    assert answers(indexed) == before
    indexed.sessions.create().commit("A new fox.")
    indexed.reindex(only_missing=True)  # from here on there are sums again
    with indexed.db.read() as tx:
        assert sums.stored(tx) == sums.counted(tx)
    assert len(indexed.search("fox", limit=1_000).hits) == len(before["rank fox"]) + 1
