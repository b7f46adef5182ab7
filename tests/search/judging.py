"""Search against the plain reading of the same store: the same documents, on all pages, in either order."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

import palaver
from palaver.core.upkeep import indexing

from ..postgres.engines import Engine
from .asking import Asked, answers, asked
from .expected import Everything, everything

MOST = 5_000  # hits that a life can have
Key = tuple[str, str | None, str]


class Told(NamedTuple):
    """What two engines must agree in; not where the index is being made again."""

    typed: str
    flags: tuple[tuple[str, bool], ...]
    hits: list[Key]
    is_whole: bool
    state: int  # a checksum of all that could be found

    def is_same_question(self, other: Told) -> bool:
        asked = (self.typed, self.flags, self.state)
        return self.is_whole and other.is_whole and asked == (other.typed, other.flags, other.state)


def judge(engine: Engine, store: palaver.Store, random: Random, queries: int) -> list[Told]:
    """Ask so much; what was found, for who compares."""
    life = everything(engine, store)
    wanted = [asked(random, life) for _ in range(queries)]
    return [ask(store, life, one, Random(random.random())) for one in wanted]


def ask(store: palaver.Store, life: Everything, one: Asked, random: Random) -> Told:
    flags = {"archived": random.random() < 0.3, "hidden": random.random() < 0.3}
    answer = {doc.key: found for doc, found in answers(one, life, **flags)}
    must = {key for key, found in answer.items() if found == {True}}
    may = {key for key, found in answer.items() if True in found}
    said = f"{one.typed!r} {flags}"
    state = crc32(repr([(doc.key, doc.text, sorted(doc.seen_by)) for doc in life.docs]).encode())
    is_whole = store.search(one.typed, limit=1, **flags).indexed_through is None  # before pages move it on
    hits = [key_of(hit) for hit in _check_newest(store, life, one, flags, random)]
    assert max(Counter(hits).values(), default=1) == 1, f"{said}: repeated"
    if is_whole:
        assert must <= set(hits) <= may, f"{said}: misses {must - set(hits)}, has too much: {set(hits) - may}"
        ranked = pages(store, one.typed, random.randint(1, 30), **flags)
        assert sorted(map(str, map(key_of, ranked))) == sorted(map(str, hits)), f"{said}: ranked"
        _check_per_session(store, one, flags, random, ranked)
    else:
        assert set(hits) <= may, f"{said}: has too much while the index is made again: {set(hits) - may}"
    return Told(one.typed, tuple(flags.items()), sorted(hits, key=str), is_whole, state)


def _check_newest(
    store: palaver.Store, life: Everything, one: Asked, flags: dict[str, bool], random: Random
) -> list[palaver.Hit]:
    """Also while the index moves between the pages."""
    hits = pages(store, one.typed, random.randint(1, 9), order="newest", moves=random.random() < 0.1, **flags)
    order = [(hit.at, hit.message_id, hit.part_id or "") for hit in hits]
    assert order == sorted(order, reverse=True), one.typed
    times = {doc.key: doc.at for doc in life.docs}
    homes = {doc.message_id: doc.home for doc in life.docs}
    seen = {doc.message_id: set(doc.seen_by) for doc in life.docs}
    for hit in hits:
        assert times.get(key_of(hit), hit.at) == hit.at, one.typed
        assert hit.session_id in (seen[hit.message_id] or {homes[hit.message_id]}) or hit.hidden, one.typed
        assert hit.hidden is False or hit.session_id == homes[hit.message_id], one.typed
    return hits


def _check_per_session(
    store: palaver.Store, one: Asked, flags: dict[str, bool], random: Random, ranked: list[palaver.Hit]
) -> None:
    order = random.choice(("rank", "newest"))
    firsts = pages(store, one.typed, random.randint(1, 4), order=order, per_session=True, **flags)
    names = [hit.session_id for hit in firsts]
    assert len(names) == len(set(names)) and set(names) == {hit.session_id for hit in ranked}, one.typed
    if order == "rank":
        best = {hit.session_id: key_of(hit) for hit in reversed(ranked)}
        assert {hit.session_id: key_of(hit) for hit in firsts} == best, one.typed


def pages(store: palaver.Store, typed: str, limit: int, *, moves: bool = False, **given: Any) -> list[palaver.Hit]:
    """All of them, joined; `moves`: more is indexed in between."""
    found: list[palaver.Hit] = []
    page = store.search(typed, limit=limit, **given)
    while True:
        found += page.hits
        if page.next is None:
            return found
        assert len(page.hits) == limit and len(found) < MOST, f"{typed!r} {given}: pages without an end"
        if moves:
            indexing.index_batch(store.db)
        page = store.search(typed, limit=limit, after=page.next, **given)


def key_of(hit: palaver.Hit) -> Key:
    return hit.message_id, hit.part_id, hit.role
