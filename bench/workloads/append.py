"""Append one message to a session: one transaction; and the same when the session is very long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import corpus, measure

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker

LEVELS = {"normal": ("ours", "raw_sqlite3"), "boundary": ("ours_boundary", "raw_full")}


def run(lab: Lab) -> None:
    for group, (ours, raw) in LEVELS.items():
        count, repeats = amount(lab, group, lab.scale.appends)
        with lab.columns(ours, raw, peers_that="append" if group == "normal" else None) as columns:
            found = lab.blocks(columns, "append.block", repeats, count=count)
            lab.versus(f"{group}.append.p50", found, "p50", ours, raw)
            lab.versus(f"{group}.append.mean", found, "mean", ours, raw)
    run_deep(lab)


def amount(lab: Lab, group: str, usual: int) -> tuple[int, int]:
    """How many per repeat, and how many repeats."""
    if group == "normal":
        return usual, lab.scale.repeats
    return lab.scale.synced, lab.scale.synced_repeats


def run_deep(lab: Lab) -> None:
    with lab.columns("ours", "raw_sqlite3") as columns:
        for column in columns:
            column("append.fill", count=lab.scale.deep)
        found = lab.blocks(columns, "append.deep")
    lab.versus("normal.append.deep", found, "deep", "ours", "raw_sqlite3")
    lab.versus("own.append.flat", found, "deep", "ours", "ours", against="fresh")


def block(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store(session="one")
    messages = corpus.chat(count, seed=repeat)
    return measure.each(lambda message: store.append("one", message), messages)


def fill(worker: Worker, count: int) -> None:
    store = worker.store("deep", session="one")
    for at in range(0, count, 5_000):
        store.append_many("one", corpus.chat(min(5_000, count - at), seed=at))


def deep(worker: Worker, repeat: int, count: int = 100) -> dict[str, float]:
    """Far down and near the top, next to each other."""
    far, near = worker.store("deep"), worker.store("fresh", session="one")
    halves = {"deep": far, "fresh": near} if repeat % 2 else {"fresh": near, "deep": far}
    messages = corpus.chat(count, seed=repeat)
    return {name: measure.each(lambda m: store.append("one", m), messages)["p50"] for name, store in halves.items()}
