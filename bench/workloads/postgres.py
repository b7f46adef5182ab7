"""Palaver on a Postgres of its own beside plain psycopg that writes the same rows; both fsync at every commit that ends
something, and the socket is local, so round trips are as cheap as they get."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from .. import measure
from . import facts

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker

OURS, RAW = "ours_postgres", "raw_postgres"
SIZES = (1_000, 1_000_000)


def run(lab: Lab) -> None:
    from tests.postgres.server import Server

    with Server(fsync="on") as server:
        os.environ["PALAVER_BENCH_DSN"] = server.create_database()
        try:
            for part in (appends, streaming, loading, listing, by_facts, opening):
                with lab.columns(OURS, RAW) as columns:
                    part(lab, columns)
        finally:
            del os.environ["PALAVER_BENCH_DSN"]


def appends(lab: Lab, columns: list) -> None:
    found = lab.blocks(columns, "append.block", lab.scale.synced_repeats, count=lab.scale.synced)
    lab.versus("postgres.append.p50", found, "p50", OURS, RAW)
    lab.versus("postgres.append.mean", found, "mean", OURS, RAW)


def streaming(lab: Lab, columns: list) -> None:
    found = lab.blocks(columns, "streams.block", lab.scale.storms, count=lab.scale.streams)
    lab.versus("postgres.streams", found, "tasks", OURS, RAW)
    lab.versus("postgres.streams.in_threads", found, "rate", OURS, RAW)
    flat = lab.blocks(columns[:1], "postgres.chunks", count=lab.scale.burst)
    lab.versus("postgres.flat", flat, "large", OURS, OURS, against="small")


def loading(lab: Lab, columns: list) -> None:
    for column in columns:
        column("load.fill", count=lab.scale.messages)
    found = lab.blocks(columns, "load.block", count=lab.scale.messages)
    lab.versus("postgres.load", found, "ms", OURS, RAW)


def listing(lab: Lab, columns: list) -> None:
    for column in columns:
        column("listing.fill", count=lab.scale.sessions // 10)
    found = lab.blocks(columns, "listing.block")
    lab.versus("postgres.list", found, "ms", OURS, RAW)


def by_facts(lab: Lab, columns: list) -> None:
    facts.compare(lab, columns, "postgres", OURS)


def opening(lab: Lab, columns: list) -> None:
    few = lab.blocks(columns[:1], "postgres.openings")
    columns[0]("postgres.make_spaces", count=lab.scale.spaces)
    many = lab.blocks(columns[:1], "postgres.openings")
    many.given["few"] = few.given[OURS]
    lab.versus("postgres.spaces", many, "ms", OURS, "few")


def chunks(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    """A chunk after 1 KB and after 1 MB of text."""
    store = worker.store("chunks", session="one")
    spent = {}
    for name, size in zip(("small", "large"), SIZES, strict=True):
        store.stream_open("one", "word " * (size // 5))
        spent[name] = measure.each(store.stream_chunk, ["some more words "] * count)["p50"]
        store.stream_close()
    return spent


def openings(worker: Worker, repeat: int, count: int = 10) -> dict[str, float]:
    """Open a space, list it, close it."""
    import palaver

    from ..adapters.ours_postgres import address

    spent = []
    for _ in range(count):
        began = time.perf_counter()
        with palaver.open(address(), space="opened") as store:
            store.sessions.list()
        spent.append(time.perf_counter() - began)
    return {"ms": sorted(spent)[count // 2] * 1e3}


def make_spaces(worker: Worker, count: int) -> None:
    import palaver

    from ..adapters.ours_postgres import address

    for number in range(count):
        palaver.open(address(), space=f"space-{number}").close()
