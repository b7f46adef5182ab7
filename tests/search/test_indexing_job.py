"""The index is written by the store that is open, a little after each seal, and answers on both engines."""

from __future__ import annotations

import time
from pathlib import Path

import palaver
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
