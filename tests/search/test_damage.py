"""A damaged index: an answer is right, or an error says that the index is damaged. Nothing is silently not there, and
whoever writes goes on; `reindex` makes it whole."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import apsw
import pytest

import palaver
from palaver import jobs

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


def test_flipped_blocks_harm_no_writer_and_go_with_a_reindex(indexed: palaver.Store) -> None:
    """SQLite does not notice everything that is wrong in a block: what comes is an answer, or a typed error."""
    right, random = answers(indexed), Random(11)
    blocks = sql.query(indexed.path, "SELECT id, block FROM document_words_data ORDER BY id")
    told = 0
    for _ in range(12):
        number, block = random.choice(blocks)
        put_block(indexed, number, random.randbytes(len(block)))
        told += is_told(indexed)
        indexed.sessions.create().commit("go on")
    assert told
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
