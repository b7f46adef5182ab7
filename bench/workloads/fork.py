"""Fork in the middle of 2,000 messages. The raw column finds the message by its place, as its schema has no other
order to offer; a second row tells it the id, so that only the writing is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import corpus, measure

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker


def run(lab: Lab) -> None:
    count = lab.scale.forks
    with lab.columns("ours", "raw_sqlite3", peers_that="fork") as columns:
        for column in columns:
            column("fork.fill")
        raw = next(c for c in columns if c.name == "raw_sqlite3")
        jobs = {c.name: lambda r, c=c: c("fork.block", repeat=r, count=count) for c in columns}
        jobs["known"] = lambda r: raw("fork.known", repeat=r, count=count)
        lab.interleave(jobs, repeats=1)  # warm
        found = lab.interleave(jobs)
    lab.versus("normal.fork", found, "p50", "ours", "raw_sqlite3", by=1e-3)
    lab.versus("normal.fork.known", found, "p50", "ours", "known", by=1e-3, peers=False)
    lab.facts("written per fork", "kB", found, "kb", ours="ours", raw="raw_sqlite3")


def fill(worker: Worker) -> None:
    worker.store(session="source").append_many("source", corpus.chat(2_000))


def block(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store()
    before = measure.written()
    found = measure.each(lambda at: store.fork("source", at), range(1_000, 1_000 + count))
    return found | {"kb": (measure.written() - before) / count / 1e3}


def known(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store()
    ids = store.message_ids("source")[1_000 : 1_000 + count]
    return measure.each(lambda mid: store.fork_known("source", mid), ids)
