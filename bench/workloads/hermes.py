"""Hermes' SessionDB on a store, beside the verbs of the store that it is made of: appends, search, a list, a storm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import corpus, measure
from .storm import refuse_loss, storm

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker

ASKED = "deploy"


def run(lab: Lab) -> None:
    with lab.columns("ours_hermes") as columns:
        found = lab.blocks(columns, "hermes.block", count=lab.scale.appends)
        for name, against in {"append": "commit", "mix": "commit"}.items():
            lab.versus(f"own.hermes.{name}", found, name, "ours_hermes", "ours_hermes", against=against)
        columns[0]("hermes.fill", count=lab.scale.sessions)
        found = lab.blocks(columns, "hermes.lists")
        for name, against in {"rich": "list", "search": "plain"}.items():
            lab.versus(f"own.hermes.{name}", found, name, "ours_hermes", "ours_hermes", against=against)
    with lab.columns("ours_hermes", "ours") as columns:
        for column in columns:
            column("storm.fill")
        storms = {c.name: lambda r, c=c: storm(lab, c, r, lab.scale.storm) for c in columns}
        found = lab.interleave(storms, lab.scale.storms)
        for column in columns:
            refuse_loss(column, found)
        lab.versus("own.hermes.storm", found, "max", "ours_hermes", "ours")


def block(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    """Rows without calls beside commits of the same messages; and the mix of a question, a call, its result, an answer,
    per row."""
    store = worker.store()
    said, sid = corpus.chat(count, seed=repeat), f"append-{repeat}"
    store.new_session(sid)
    session = store.store.sessions.create("bench")
    plain = measure.each(session.commit, said)
    rows = measure.each(lambda message: store.append(sid, message), said)
    mixed = measure.each(lambda number: store.exchange(sid, repeat * count + number), range(count // 4))
    return {"commit": plain["mean"], "append": rows["mean"], "mix": mixed["mean"] / 4}


def fill(worker: Worker, count: int) -> None:
    store = worker.store()
    store.fill_sessions(count)
    store.store.reindex(only_missing=True)


def lists(worker: Worker, repeat: int) -> dict[str, float]:
    store = worker.store()
    found = {
        "list": measure.median(lambda: store.store.sessions.list(limit=20).sessions, most=100),
        "rich": measure.median(lambda: store.db.list_sessions_rich(limit=20), most=100),
        "plain": measure.median(lambda: store.store.search(ASKED, limit=20).hits, most=30),
        "search": measure.median(lambda: store.db.search_messages(ASKED, limit=20), most=30),
    }
    if {name: one["n"] for name, one in found.items()} != dict.fromkeys(found, 20):
        raise RuntimeError(f"found {found}")
    return {name: one["ms"] for name, one in found.items()}
