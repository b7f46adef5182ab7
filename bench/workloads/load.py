"""Load a whole session: every message, every part decoded."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from .. import corpus, measure

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker


def run(lab: Lab) -> None:
    with lab.columns("ours", "raw_sqlite3", peers_that="load") as columns:
        for column in columns:
            column("load.fill", count=lab.scale.messages)
        same = {column("load.digest")["digest"] for column in columns[:2]}
        if len(same) != 1:
            raise RuntimeError("the two columns do not load the same")
        found = lab.blocks(columns, "load.block", count=lab.scale.messages)
    lab.versus("normal.load", found, "ms", "ours", "raw_sqlite3")


def fill(worker: Worker, count: int) -> None:
    worker.store(session="big").append_many("big", corpus.rich(count))


def digest(worker: Worker) -> dict[str, str]:
    loaded = [[message["role"], message["parts"]] for message in worker.store().load("big")]
    return {"digest": sha256(json.dumps(loaded, sort_keys=True).encode()).hexdigest()}


def block(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store()
    found = measure.median(lambda: store.load("big"))
    if found["n"] != count:
        raise RuntimeError(f"loaded {found['n']} messages of {count}")
    return found
