"""The index is written by the store that is open, a little after each seal."""

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
