"""Search on Postgres beside a table of the same texts with a GIN index: pages, and the index."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from ..adapters import raw_gin
from ..lab import Results
from .searching import SLICES, all_texts, compared, sessions_of

if TYPE_CHECKING:
    from ..columns import Column
    from ..lab import Lab
    from ..worker import Worker

OURS, RAW = "ours_unindexed_postgres", "raw_gin"
QUERIES = {
    "everywhere": "'the'",
    "common": "'error'",
    "rare": "'zephyrine'",
    "phrase": "'the' <-> 'file'",
    "prefix": "'deploy':*",
    "newest": "'error'",
}


def run(lab: Lab) -> None:
    from tests.postgres.server import Server

    with Server() as server:
        os.environ["PALAVER_BENCH_DSN"] = server.create_database()
        try:
            with lab.columns(OURS, RAW) as (ours, raw):
                compare(lab, ours, raw)
        finally:
            del os.environ["PALAVER_BENCH_DSN"]


def compare(lab: Lab, ours: Column, raw: Column) -> None:
    count, characters = lab.scale.texts, 0
    for piece in range(SLICES):
        characters += ours("searching.fill", count=count, piece=piece, per_turn=10)["characters"]
    jobs = {
        "ours": lambda piece: ours("searching.build", count=count, piece=piece, per_turn=10),
        "raw": lambda piece: raw("search_postgres.build", count=count, piece=piece),
    }
    lab.versus("search_postgres.build", lab.interleave(jobs, SLICES), "rate", "ours", "raw", by=1e-6)
    sizes = Results()
    sizes.given = {
        "ours": [{"size": ours("search_postgres.settle")["size"] / characters}],
        "raw": [{"size": raw("search_postgres.settle_raw")["size"] / characters}],
    }
    lab.figure("search_postgres.size", sizes, "size", "ours", "raw")
    found = lab.blocks([ours], "search_postgres.block", raw=raw("searching.path")["path"])
    for kind in QUERIES:
        lab.versus(f"search_postgres.{kind}", found, kind, OURS, OURS, against=f"raw_{kind}", peers=False)
        lab.figure(f"search_postgres.page.{kind}", found, f"more_{kind}", OURS, OURS, against=f"page_{kind}")


def build(worker: Worker, count: int, piece: int) -> dict[str, float]:
    store, found = worker.store("search"), all_texts(sessions_of(count, piece))
    began = time.perf_counter()
    store.add(found)
    return {"rate": sum(map(len, found)) / (time.perf_counter() - began)}


def settle(worker: Worker) -> dict[str, int]:
    """What autovacuum does a little later; and how large the words and their index are."""
    import psycopg

    from ..adapters.ours_postgres import address

    schema = worker.store("search").store._engine.schema
    with psycopg.connect(address(), autocommit=True) as connection:
        connection.execute(f'SET search_path = "{schema}"')
        connection.execute("VACUUM ANALYZE")
        ((size,),) = connection.execute("SELECT pg_total_relation_size('document_words')").fetchall()
    return {"size": size}


def settle_raw(worker: Worker) -> dict[str, int]:
    connection = worker.store("search").c
    connection.execute("VACUUM ANALYZE texts")
    ((size,),) = connection.execute("SELECT pg_relation_size('by_word')").fetchall()
    return {"size": size}


def block(worker: Worker, repeat: int, raw: str) -> dict[str, float]:
    store = worker.store("search").store
    beside = worker.stores.get("raw") or worker.stores.setdefault("raw", raw_gin.Store(raw))
    found: dict[str, float] = {}
    for kind, query in QUERIES.items():
        ask = beside.newest if kind == "newest" else beside.best
        found |= compared(store, kind, lambda ask=ask, query=query: ask(query))
    return found
