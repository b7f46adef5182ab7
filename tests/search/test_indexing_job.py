"""The index is written by the store that is open, a little after each seal, and answers on both engines."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import palaver
from palaver.background import jobs
from palaver.core.upkeep import indexing, tending
from palaver.core.upkeep.indexing import are_any_left


def test_a_store_that_only_commits_is_indexed_while_it_is_open(tmp_path: Path) -> None:
    with palaver.open(tmp_path / "store.db") as store:
        store.sessions.create("coder").commit("the marmalade is on the upper shelf")
        deadline = time.monotonic() + 20
        while are_any_left(store.db) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not are_any_left(store.db)
        assert [hit.snippet for hit in store.search("marmalade").hits] == ["the marmalade is on the upper shelf"]


def test_what_is_indexed_is_found_on_postgres_best_first_and_newest_first(dsn: str) -> None:
    with palaver.open(dsn) as store:
        session = store.sessions.create("coder")
        session.commit("the marmalade is on the upper shelf")
        session.commit("marmalade, and more marmalade")
        store.reindex()
        best, newest = (store.search("marmalade -jam", order=order).hits for order in ("rank", "newest"))
        assert {hit.snippet for hit in best} == {"the marmalade is on the upper shelf", "marmalade, and more marmalade"}
        assert newest[0].snippet == "marmalade, and more marmalade"


def test_reindex_goes_on_when_somebody_else_has_indexed_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.Index, "due", lambda self, now: None)
    with palaver.open(tmp_path / "store.db") as store:
        store.sessions.create("coder").commit("the marmalade is on the upper shelf")
        real, others = indexing._hold, iter([True])
        monkeypatch.setattr(indexing, "_hold", lambda tx: not next(others, False) and real(tx))
        assert store.reindex() == 1
        assert not indexing.are_any_left(store.db)


def test_reindex_leaves_one_segment_and_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs.Index, "due", lambda self, now: None)
    monkeypatch.setattr(indexing, "_MANY", 1)
    monkeypatch.setattr(indexing, "_TURNS", 1)
    monkeypatch.setattr(indexing, "_PAGES", 1)
    path = tmp_path / "store.db"
    with palaver.open(path) as store:
        _index_in_small_batches(store)
        assert _segments(path) > 1
        store.reindex()
        assert _segments(path) == 1
        assert len(store.search("marmalade", limit=100).hits) == 30
        assert store.verify() == []


def test_a_store_that_has_nothing_to_index_merges_what_small_batches_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.Index, "due", lambda self, now: None)
    monkeypatch.setattr(indexing, "_TURNS", 1)
    monkeypatch.setattr(tending, "_FEWEST", 1)
    path = tmp_path / "store.db"
    with palaver.open(path) as store:
        _index_in_small_batches(store)
        assert _segments(path) > 1
        for _ in range(50):
            store._background.index.run()
        assert _segments(path) == 1
        assert len(store.search("marmalade", limit=100).hits) == 30
        assert store.verify() == []


@pytest.mark.parametrize(
    ("pages", "are_many"), [([], False), ([40], False), ([100, 15], False), ([100, 24], False), ([100, 20, 5], True)]
)
def test_what_is_merged_is_a_good_part_of_the_whole(pages: list[int], are_many: bool) -> None:
    assert tending.are_many_segments(pages) is are_many


def _index_in_small_batches(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    for number in range(30):
        session.commit(f"marmalade {number}")
    while indexing.index_batch(store.db):
        pass


def _segments(path: Path) -> int:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:  # the same SQLite
        [(count,)] = connection.execute("SELECT count(DISTINCT segid) FROM document_words_idx").fetchall()
    return int(count)


def test_a_store_that_cannot_index_at_its_end_is_closed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(db: object, progress: object = None, seconds: float | None = None) -> int:
        raise palaver.StoreFull("no room for words")

    monkeypatch.setattr(indexing, "index_all", full)
    with palaver.open(tmp_path / "talks.db") as store:
        store.sessions.create("a").commit("a heron")
    assert "no room for words" in caplog.text
    with palaver.open(tmp_path / "talks.db") as store:
        assert [hit.snippet for hit in store.search("heron")] == ["a heron"]
        monkeypatch.undo()
