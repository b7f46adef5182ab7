"""Graft one session from elsewhere into a new store, beside raw inserts of the rows that this leaves."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from .. import corpus

if TYPE_CHECKING:
    from typing import Any

    from ..lab import Lab
    from ..worker import Worker


def run(lab: Lab) -> None:
    count = lab.scale.grafted
    with lab.columns("ours", "raw_rows") as columns:
        ours, raw = columns
        given = {"count": count, "path": ours("graft.template", count=count)["path"]}
        found = lab.interleave(
            {
                ours.name: lambda repeat: ours("graft.block", repeat=repeat, count=count),
                raw.name: lambda repeat: raw("graft.inserts", repeat=repeat, **given),
            }
        )
    lab.versus("normal.graft", found, "us", "ours", "raw_rows", peers=False)


def template(worker: Worker, count: int) -> dict[str, str]:
    """A store that holds what will be inserted."""
    worker.store("template").store.graft(source(count))
    return {"path": worker.close("template")}


def block(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store, given = worker.store(f"graft-{repeat}").store, source(count)
    began = time.perf_counter()
    turns = store.graft(given).turns
    spent = time.perf_counter() - began
    worker.close(f"graft-{repeat}")
    if turns != count:
        raise RuntimeError(f"grafted {turns} turns of {count}")
    return {"us": spent / count * 1e6}


def inserts(worker: Worker, repeat: int, count: int, path: str) -> dict[str, float]:
    from palaver.grafts.source import TURNS

    from ..adapters.raw_rows import Rows

    store, rows = worker.store(f"rows-{repeat}"), Rows(path)
    store.make(rows)
    began = time.perf_counter()
    store.insert(rows, -(-count // TURNS))
    spent = time.perf_counter() - began
    worker.close(f"rows-{repeat}")
    return {"us": spent / count * 1e6}


def source(count: int) -> Any:
    """Questions and answers of some 200 characters; each pair is one item with an id."""
    from palaver import GraftItem, GraftSession, GraftTurn

    said = corpus.chat(2 * count)
    pairs = [said[at : at + 2] for at in range(0, 2 * count, 2)]
    items = [GraftItem(json.dumps(pair).encode(), f"item-{at}", "log", at) for at, pair in enumerate(pairs)]
    return GraftSession("bench", "s", [GraftTurn([item], pair) for item, pair in zip(items, pairs, strict=True)])
