"""A question and its answer: as a turn (begin, chunks, seal) and as one commit, against two raw appends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import corpus, measure
from .append import LEVELS, amount

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker


def run(lab: Lab) -> None:
    for group, (ours, raw) in LEVELS.items():
        count, repeats = amount(lab, group, lab.scale.turns)
        count //= 1 if group == "normal" else 2
        with lab.columns(ours, raw) as (mine, plain):
            jobs = {
                "turn": lambda r: mine("turn.block", repeat=r, count=count),
                "raw": lambda r: plain("turn.block", repeat=r, count=count),
                "commit": lambda r: mine("turn.commits", repeat=r, count=count),
            }
            found = lab.interleave(jobs, repeats)
        for what in ("turn", "commit"):
            lab.versus(f"{group}.{what}.p50", found, "p50", what, "raw")
            lab.versus(f"{group}.{what}.mean", found, "mean", what, "raw")


def block(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store("turns", session="one")
    return measure.each(lambda one: store.turn("one", one), prepared(store, repeat, count))


def prepared(store: Any, repeat: int, count: int) -> list[Any]:
    messages = corpus.chat(2 * count, seed=repeat)
    return [store.prepare_turn(*messages[at : at + 2]) for at in range(0, 2 * count, 2)]


def commits(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store("commits", session="one")
    messages = corpus.chat(2 * count, seed=repeat)
    pairs = [messages[at : at + 2] for at in range(0, 2 * count, 2)]
    return measure.each(lambda pair: store.commit("one", pair), pairs)
