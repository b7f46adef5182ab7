"""Search, inside the processes of the columns: fill, index, and the ids of a page of 20.

Ours are asked of the engine, which is what the raw tables do: candidates in order. The whole page is what a user gets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import measure, texts
from ..adapters import raw_fts5

if TYPE_CHECKING:
    from ..worker import Worker

SLICES = 10  # in which a store is filled and indexed: blocks to interleave
PAGE = 20
_LIVE, _STEP, _OLD = 1_760_000_000_000, 30_000, 1_700_000_000_000  # milliseconds


class Asked(NamedTuple):
    typed: str
    order: str = "rank"
    table: str = "plain"


KINDS = {
    "everywhere": Asked("the"),
    "common": Asked("error"),
    "rare": Asked(texts.RARE),
    "phrase": Asked('"the file"'),
    "prefix": Asked("deploy*"),
    "substring": Asked(texts.SUBSTRING, table="trigrams"),
    "newest": Asked("error", "newest"),
}


def sessions_of(count: int, piece: int, pieces: int = SLICES) -> list[list[dict[str, Any]]]:
    """One of so many equal pieces of all sessions."""
    all_of_them = -(-count // texts.PER_SESSION)
    numbers = range(all_of_them * piece // pieces, all_of_them * (piece + 1) // pieces)
    return [texts.session(number, min(texts.PER_SESSION, count - number * texts.PER_SESSION)) for number in numbers]


# ---------------------------------------------------------------- filling


def fill(worker: Worker, count: int, piece: int, per_turn: int = 2) -> dict[str, int]:
    """As if recorded live, on a turned clock: a turn, mostly a question and its answer, every half minute."""
    from palaver.base import clock

    store, found = worker.store("search").store, sessions_of(count, piece)
    real, now = clock._now_ns, _LIVE + count * piece // SLICES * _STEP
    try:
        for messages in found:
            session = store.sessions.create("bench", workspace="/w")
            for at in range(0, len(messages), per_turn):
                now += _STEP
                clock._now_ns = lambda now=now: now * 1_000_000
                session.commit(messages[at : at + per_turn])
    finally:
        clock._now_ns = real
    return {"characters": sum(map(len, all_texts(found)))}


def graft_old(worker: Worker, count: int) -> None:
    """A tenth of all, from before: what an import brings."""
    from palaver import GraftItem, GraftSession, GraftTurn
    from palaver.core.upkeep.indexing import index_batch

    store, first = worker.store("search").store, count // texts.PER_SESSION
    for number in range(first, first + max(1, first // 10)):
        turns, said = [], texts.session(number)
        for at in range(0, len(said), 2):
            when = _OLD + (number * texts.PER_SESSION + at) * _STEP
            pair = [{**message, "created_at": when} for message in said[at : at + 2]]
            turns.append(GraftTurn([GraftItem(repr(pair).encode(), f"{number}-{at}")], pair, started_at=when))
        store.graft(GraftSession("bench", str(number), turns, created_at=_OLD))
    while index_batch(store.db):
        pass


def all_texts(found: list[list[dict[str, Any]]]) -> list[str]:
    return [text for messages in found for text in texts.searched(messages)]


# ---------------------------------------------------------------- building


def build(worker: Worker, count: int, piece: int, per_turn: int = 2) -> dict[str, float]:
    """Index the next piece, in batches as the job does: until about so many turns are. Nothing is merged at the end."""
    from palaver.core.upkeep.indexing import index_batch

    store, found = worker.store("search").store, sessions_of(count, piece)
    wanted, done = sum(-(-len(messages) // per_turn) for messages in found), 0
    began = time.perf_counter()
    while (done < wanted or piece == SLICES - 1) and (turns := index_batch(store.db)):
        done += turns
    spent = time.perf_counter() - began
    return {"rate": sum(map(len, all_texts(found))) * (done / wanted) / spent}


def tend(worker: Worker) -> dict[str, float]:
    """What maintenance does as soon as nothing is left to index; how long that took."""
    store = worker.store("search").store
    began = time.perf_counter()
    while store._background.index.tend():
        pass
    return {"seconds": time.perf_counter() - began}


def build_raw(worker: Worker, count: int, piece: int) -> dict[str, float]:
    """The words in one transaction; the trigrams beside the clock."""
    store, found = worker.store("search"), all_texts(sessions_of(count, piece))
    began = time.perf_counter()
    store.add("plain", found)
    spent = time.perf_counter() - began
    store.add("trigrams", found)
    return {"rate": sum(map(len, found)) / spent}


def sizes(worker: Worker) -> dict[str, int]:
    """Bytes of each table and index, all of its pages."""
    import apsw

    connection = apsw.Connection(worker.path("search"), flags=apsw.SQLITE_OPEN_READONLY)
    found = connection.execute("SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE").fetchall()
    connection.close()
    return dict(found)


def path(worker: Worker) -> dict[str, str]:
    return {"path": worker.path("search")}


# ---------------------------------------------------------------- asking


def block(worker: Worker, repeat: int, kinds: list[str], raw: str) -> dict[str, float]:
    store = worker.store("search").store
    beside = worker.stores.get("raw") or worker.stores.setdefault("raw", raw_fts5.Store(raw))
    found: dict[str, float] = {}
    for kind in kinds:
        found |= compared(store, kind, lambda kind=kind: ask_raw(beside, KINDS[kind]))
    return found


def compared(store: Any, kind: str, ask_raw: Callable[[], list[int]]) -> dict[str, float]:
    """The ids of a page, ours and of the raw table in turn, in one process: they are too short for two. `page_…` is
    the whole page, `more_…` what that takes beyond the ids."""
    from palaver.search.query import parse

    asked = KINDS[kind]
    tree = parse(asked.typed, now=0).tree
    spent = in_turn(
        ids=lambda: ids(store, tree, asked.order),
        raw=ask_raw,
        page=lambda: store.search(asked.typed, order=asked.order, limit=PAGE).hits,
    )
    more = spent["page"] - spent["ids"]
    return {kind: spent["ids"], f"raw_{kind}": spent["raw"], f"page_{kind}": spent["page"], f"more_{kind}": more}


def in_turn(**calls: Callable[[], Any]) -> dict[str, float]:
    """Milliseconds of each, the median of several."""
    spent: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + 0.15
    while len(spent["ids"]) < 25 and (len(spent["ids"]) < 3 or time.perf_counter() < end):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            spent[name].append((time.perf_counter() - began) * 1e3)
    return {name: median(times) for name, times in spent.items()}


def ids(store: Any, tree: Any, order: str) -> list[int]:
    from palaver.core.search import engines

    with store.db.read() as tx:
        engine = engines.of(tx, tree)
        rows = engines.Newest(engine, None) if order == "newest" else engines.best(engine, None)
        return [row.number for row in islice(rows, PAGE)]


def ask_raw(store: raw_fts5.Store, asked: Asked) -> list[int]:
    statement = raw_fts5.NEWEST if asked.order == "newest" else raw_fts5.BEST
    return store.ask(statement, asked.table, asked.typed)


def counts(worker: Worker) -> dict[str, int]:
    store = worker.store("search")
    return {kind: store.ask(raw_fts5.COUNT, asked.table, asked.typed)[0] for kind, asked in KINDS.items()}


# ---------------------------------------------------------------- appending


def append(worker: Worker, repeat: int, seconds: float) -> dict[str, float]:
    """One message after the other, for so long; what the index has not got by then is caught up with afterwards."""
    from palaver.core.upkeep import indexing

    store = worker.store("appends", session=f"s{repeat}")
    if f"s{repeat}" not in store.sessions:
        store.new_session(f"s{repeat}")
    said = texts.session(repeat, 2_000)
    spent = measure.each(lambda at: store.append(f"s{repeat}", said[at % 2_000]), _for(seconds))
    left = indexing.how_many_are_left(store.store.db)
    if store.store._background.index.has_work and worker.name == "ours":
        indexing.index_all(store.store.db)
    return spent | {"left": left}


def _for(seconds: float) -> Any:
    end, at = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        yield at
        at += 1
