"""Newest first, page by page, where some of it is indexed and some is not yet."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver
from palaver.background import jobs


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_lose_nothing_between_what_is_indexed_and_what_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(jobs.Index, "due", lambda self, now: None)
    with palaver.open(tmp_path / "store.db") as store:
        session = store.sessions.create("coder")
        for number in range(5):
            session.commit(f"marmalade {number}")
        store.reindex()
        for number in range(5, 8):
            session.commit(f"marmalade {number}")
        assert "".join(_last_characters(store, limit)) == "76543210"


def _last_characters(store: palaver.Store, limit: int) -> list[str]:
    page = store.search("marmalade", order="newest", limit=limit)
    found = [hit.snippet[-1] for hit in page.hits]
    while page.next is not None:
        page = store.search("marmalade", order="newest", limit=limit, after=page.next)
        found += [hit.snippet[-1] for hit in page.hits]
    return found
