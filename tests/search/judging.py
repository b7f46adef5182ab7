"""Search against the plain reading of the same store: the same documents, on all pages, in either order."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

import pytest

import palaver
from palaver.core.search import hits
from palaver.core.upkeep import indexing

from ..postgres.engines import Engine
from . import corpus
from .asking import Asked, answers, asked
from .expected import Everything, everything

MOST = 5_000  # hits that a life can have
Key = tuple[str, str | None, str]
Flags = dict[str, bool]


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
    """Ask so much; what was found, for who compares. Where nobody says anything that is seen, somebody does first."""
    life = everything(engine, store)
    if next(life.seen(archived=False, hidden=False), None) is None:
        store.sessions.create("coder").commit(f"the cat {corpus.text(random)}")
        life = everything(engine, store)
    state = crc32(repr([(doc.key, doc.text, sorted(doc.seen_by)) for doc in life.docs]).encode())
    drawn = [{name: random.random() < 0.3 for name in ("archived", "hidden")} for _ in range(queries)]
    wanted = [(asked(random, life, **flags), flags) for flags in drawn]
    return [ask(store, life, one, flags, state, Random(random.random())) for one, flags in wanted]


def ask(store: palaver.Store, life: Everything, one: Asked, flags: Flags, state: int, random: Random) -> Told:
    answer = {doc.key: held for doc, held in answers(one, life, **flags)}
    must = {key for key, held in answer.items() if held == {True}}
    may = {key for key, held in answer.items() if True in held}
    said = f"{one.typed!r} {flags}"
    newest = pages(store, one.typed, random.choice((1, 4, 30)), order="newest", moves=random.random() < 0.1, **flags)
    _check_newest(life, one, newest.hits)
    if random.random() < 0.05:
        _check_around(store, one, flags)
    found = [key_of(hit) for hit in newest.hits]
    assert max(Counter(found).values(), default=1) == 1, f"{said}: repeated"
    if newest.is_whole:
        assert must <= set(found) <= may, f"{said}: misses {must - set(found)}, has too much: {set(found) - may}"
        ranked = pages(store, one.typed, random.choice((1, 5, 30)), **flags).hits
        assert sorted(map(str, map(key_of, ranked))) == sorted(map(str, found)), f"{said}: ranked"
        if random.random() < 0.3:
            _check_per_session(store, one, flags, random, ranked)
    else:
        assert set(found) <= may, f"{said}: has too much while the index is made again: {set(found) - may}"
    return Told(one.typed, tuple(flags.items()), sorted(found, key=str), newest.is_whole, state)


def _check_newest(life: Everything, one: Asked, hits: list[palaver.Hit]) -> None:
    order = [(hit.at, hit.message_id, hit.part_id or "") for hit in hits]
    assert order == sorted(order, reverse=True), one.typed
    times = {doc.key: doc.at for doc in life.docs}
    homes = {doc.message_id: doc.home for doc in life.docs}
    seen = {doc.message_id: set(doc.seen_by) for doc in life.docs}
    for hit in hits:
        assert times.get(key_of(hit), hit.at) == hit.at, one.typed
        assert hit.session_id in (seen[hit.message_id] or {homes[hit.message_id]}) or hit.hidden, one.typed
        assert hit.hidden is False or hit.session_id == homes[hit.message_id], one.typed


def _check_around(store: palaver.Store, one: Asked, flags: Flags) -> None:
    """What came next stands behind a hit, if it is what the jumps from the head lead to."""
    shown = store.search(one.typed, limit=50, **flags).hits
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hits.Shown, "_next", lambda self, turn, last: None)
        assert store.search(one.typed, limit=50, **flags).hits == shown, one.typed


def _check_per_session(
    store: palaver.Store, one: Asked, flags: Flags, random: Random, ranked: list[palaver.Hit]
) -> None:
    order = random.choice(("rank", "newest"))
    firsts = pages(store, one.typed, random.choice((1, 4)), order=order, per_session=True, **flags).hits
    names = [hit.session_id for hit in firsts]
    assert len(names) == len(set(names)) and set(names) == {hit.session_id for hit in ranked}, one.typed
    if order == "rank":
        best = {hit.session_id: key_of(hit) for hit in reversed(ranked)}
        assert {hit.session_id: key_of(hit) for hit in firsts} == best, one.typed


class Pages(NamedTuple):
    """All of them, joined; `is_whole`: when they were begun, everything was looked at."""

    hits: list[palaver.Hit]
    is_whole: bool


def pages(store: palaver.Store, typed: str, limit: int, *, moves: bool = False, **given: Any) -> Pages:
    """`moves`: more is indexed in between."""
    page = store.search(typed, limit=limit, **given)
    found, is_whole = list(page.hits), page.indexed_through is None
    while page.next is not None:
        assert len(page.hits) == limit and len(found) < MOST, f"{typed!r} {given}: pages without an end"
        if moves:
            indexing.index_batch(store.db)
        page = store.search(typed, limit=limit, after=page.next, **given)
        found += page.hits
    return Pages(found, is_whole)


def key_of(hit: palaver.Hit) -> Key:
    return hit.message_id, hit.part_id, hit.role
