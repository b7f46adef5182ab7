"""Whoever makes the index again is killed: it goes on with the next, and nothing that was there is lost."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import palaver
from palaver.core.upkeep import indexing

from ..tools import sql
from ..tools.puppet import Script

TURNS = 120
REINDEX = """
import palaver
from palaver.core.upkeep import indexing
indexing._TURNS = 3
store = palaver.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(100):
    store.reindex(progress=lambda done, total: print(done, flush=True))
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_reindex_that_is_killed_is_gone_on_with(path: str, seed: int) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create()
        for number in range(TURNS):
            session.commit(f"fox number{number}")
    with Script(REINDEX, path) as process:
        process.hear()
        process.write("go")
        for _ in range(Random(seed).randrange(1, 60)):
            process.hear()
        process.kill()

    with palaver.open(path) as store:
        store.sessions.get(session.id).commit("fox afterwards")
        page = store.search("fox", limit=1_000)
        assert page.indexed_through is not None or len(page.hits) == TURNS + 1
        store.reindex(only_missing=True)
        assert len(store.search("fox", limit=1_000).hits) == TURNS + 1
        assert not indexing.are_any_left(store.db) and store.verify() == []
    assert integrity(path)


def integrity(path: str | Path) -> bool:
    """SQLite's own look at the words: it raises, where they are not whole."""
    with sql.writing(path) as db:
        db.execute("INSERT INTO document_words(document_words) VALUES ('integrity-check')")
    return True
