"""How large the file grows: per appended message, per turn, and per byte of streamed text once it has settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import corpus, measure
from .stream import CHUNK

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker

MESSAGES, STREAMS, CHUNKS = 2_000, 20, 1_000


def run(lab: Lab) -> None:
    with lab.columns("ours", "raw_sqlite3") as columns:
        sides = dict(zip(("ours", "raw"), columns, strict=True))
        for label, op, unit in (
            ("file per appended message of 200 characters", "sizes.appended", "bytes"),
            ("file per turn of two such messages", "sizes.turned", "bytes"),
            (f"file per byte of text, {STREAMS} streams of {CHUNKS:,} chunks, settled", "sizes.streamed", "bytes"),
        ):
            lab.fact(label, unit, **{side: column(op)["size"] for side, column in sides.items()})


def appended(worker: Worker) -> dict[str, float]:
    store = worker.store("appended", session="one")
    for message in corpus.chat(MESSAGES):
        store.append("one", message)
    return {"size": measure.size(worker.close("appended")) / MESSAGES}


def turned(worker: Worker) -> dict[str, float]:
    store, messages = worker.store("turned", session="one"), corpus.chat(MESSAGES)
    for at in range(0, MESSAGES, 2):
        store.turn("one", store.prepare_turn(*messages[at : at + 2]))
        if at % 100 == 0:
            store.settle()
    store.settle()
    return {"size": measure.size(worker.close("turned")) / (MESSAGES // 2)}


def streamed(worker: Worker) -> dict[str, float]:
    store = worker.store("streamed", session="one")
    for _ in range(STREAMS):
        store.stream_open("one", "So")
        for _ in range(CHUNKS):
            store.stream_chunk(CHUNK)
        store.stream_close()
        store.settle()
    return {"size": measure.size(worker.close("streamed")) / (STREAMS * CHUNKS * len(CHUNK))}
