"""A store as dialects see it that know a conversation as numbered rows: each message one, or one
for each of its steps, and each tool result one.

A handle, like a session: it holds nothing but the store, and each verb is one transaction. `spots` tells where in a
message there are rows beside the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from .core import heads, verbs
from .core.numbered import finding, reading, tally, writing
from .core.numbered.finding import FoundMessage as FoundMessage
from .core.numbered.finding import FoundRow as FoundRow
from .core.numbered.reading import FIRST as FIRST
from .core.numbered.reading import NumberedRow as NumberedRow
from .core.numbered.reading import Spot as Spot
from .core.numbered.reading import Spots
from .core.numbered.records import OpenRow
from .core.numbered.records import SummaryRow as SummaryRow
from .core.numbered.tally import Sums as Sums
from .core.numbered.writing import Note, Unnumbered
from .core.read import sessions as read_sessions
from .core.runtime import Runtime
from .core.session_facts import Facts
from .db.engine import Tx
from .errors import StoreFull, StoreReadOnly
from .session import Session
from .store import Store

Changes = Callable[[Mapping[str, Any]], Mapping[str, Any]]  # of the metadata that a session has
Reply = Callable[[dict[str, Any]], tuple[Any, Mapping[str, Any] | None]]
_PAGE = 50  # sessions that are read at once
_MOST_FOUND = 1_000  # rows of a page of a search


class Told(NamedTuple):
    """What a dialect is told of the usage of a session: counts as `turn.usage` takes them, what the caller says it cost
    and what a price list says. `changes` are for the session's metadata, `model` is its model if it had none."""

    usage: Mapping[str, int]
    model: str | None
    cost: float | None
    computed: float | None
    price: str | None
    absolute: bool
    changes: Changes


class NumberedRows:
    def __init__(self, store: Store, source: str, spots: Spots) -> None:
        self.store = store
        self._source = source  # of the usage that it is told
        self._spots = spots

    # ------------------------------------------------------------ writing rows, by the name that an application gave

    def append(self, name: str, message: Mapping[str, Any], stamp: float) -> int:
        """A message; the number of its row."""
        whole = verbs.commit.WholeTurn.of([message], None, {})
        return self._numbering(name, stamp, writing.append, whole)

    def call(self, name: str, message: Mapping[str, Any], stamp: float) -> int:
        """An answer whose tool calls wait for their results; the number of its row."""
        given = verbs.unanswered.UnansweredTurn.of([message], None, {})
        return self._numbering(name, stamp, writing.call, given)

    def answer(self, name: str, call_id: str, reply: Reply, otherwise: Mapping[str, Any], stamp: float) -> int:
        """The result of an open call, as `reply` makes it of the call's part; if none of this id is open, a message."""
        whole = verbs.commit.WholeTurn.of([otherwise], None, {})
        return self._numbering(name, stamp, _answer, call_id, reply, whole)

    def _numbering(self, name: str, stamp: float, verb: Any, *given: Any) -> int:
        named = Session(self.store, name)  # which session that is, is looked up in the transaction
        try:
            return int(named._write(_of_name, verb, *given, Note(stamp)))
        except Unnumbered:
            named._write(_of_name, writing.number, self._spots)
            return int(named._write(_of_name, verb, *given, Note(stamp, is_sure=True)))

    # ------------------------------------------------------------ reading rows

    def read(self, session_id: str) -> list[NumberedRow]:
        """The rows of a session. Those without a number get one; where nothing may be written, a negative one for this
        answer."""
        found = self._read(session_id)
        if all(row.number is not None for row in found):
            return found
        try:
            if self.store.readonly:
                raise StoreReadOnly.by_verb("read")
            Session(self.store, session_id)._write(writing.number, self._spots)
        except (StoreFull, StoreReadOnly):  # reading goes on
            return [row._replace(number=row.number or -place) for place, row in enumerate(found, 1)]
        return [row for row in self._read(session_id) if row.number is not None]  # what came since has none yet

    def search(
        self, typed: str, limit: int, *, sources: Sequence[str] | None, without: Sequence[str], roles: Sequence[str]
    ) -> list[FoundRow]:
        """The best so many rows, in sessions of these sources and not of those, of these roles. One that has no number
        yet gets one; where nothing may be written, its place in the answer, as a negative number."""
        query = finding.asked(typed, sources=sources, without=without, roles=roles)
        found: list[FoundRow] = []
        cursor, is_first = None, True
        while len(found) < limit and (is_first or cursor is not None):
            with self.store.db.read() as tx:
                size = min(limit - len(found), _MOST_FOUND)
                page = finding.page(tx, query, size, cursor, self.store._background.checks)
            found, cursor, is_first = [*found, *page.rows], page.next, False
            if page.is_behind and not self.store.readonly:
                self.store._background.index_soon()
        return self._with_numbers(found)

    def _with_numbers(self, found: list[FoundRow]) -> list[FoundRow]:
        without = dict.fromkeys(row.session_id for row in found if row.number is None)
        known: dict[tuple[str, int | None], NumberedRow] = {}
        for session_id in without if not self.store.readonly else ():
            known |= {row.place_in_message: row for row in self.read(session_id) if row.place_in_message is not None}
        return [_with_number(row, place, known) for place, row in enumerate(found, 1)]

    def _read(self, session_id: str) -> list[NumberedRow]:
        with self.store.db.read() as tx:
            return reading.of_session(tx, session_id, self._spots)

    def stamps(self, session_id: str) -> dict[str, float]:
        """When the rows were written that were first written in a session, by what has their number."""
        with self.store.db.read() as tx:
            return reading.stamps(tx, session_id)

    def count(self) -> tuple[int, list[str]]:
        """How many rows all sessions have, but for some whose rows have to be read for that."""
        with self.store.db.read() as tx:
            return reading.count(tx)

    # ------------------------------------------------------------ sessions

    def create(self, name: str, agent: str, facts: Facts, **given: Any) -> Session:
        """The session of a name, made if there is none. A name whose session was deleted is free again."""
        about = dict.fromkeys(("workspace", "model", "title", "metadata", "parent", "relation", "call")) | given
        with self.store.db.write(hard=True) as tx:
            new = verbs.create.NewSession(agent=agent, facts=facts, **about).checked()
            return Session(self.store, writing.made(tx, name, new))

    def keep_prompt(self, text: str) -> str:
        """A system prompt, once; its digest."""
        with self.store.db.write() as tx:
            return writing.keep_prompt(tx, text)

    def set_prompt(self, session_id: str, text: str | None, changes: Callable[..., Mapping[str, Any]]) -> None:
        """Keep a system prompt, and change the metadata of a session as `changes` says of it and of its digest."""
        Session(self.store, session_id)._write(_set_prompt, text, changes)

    def find(self, name: str) -> Session | None:
        with self.store.db.read() as tx:
            found = reading.living(tx, name)
        return None if found is None else Session(self.store, found)

    def beginning(self, prefix: str) -> list[SummaryRow]:
        """Sessions whose name begins so; not more than two."""
        with self.store.db.read() as tx:
            found = [reading.summary(tx, each) for each in reading.beginning(tx, prefix)]
        return [row for row in found if row is not None]

    def summary(self, session_id: str) -> SummaryRow | None:
        with self.store.db.read() as tx:
            return reading.summary(tx, session_id)

    def open_rows(self, session_id: str) -> OpenRow | None:
        """What the open turns of a session add to it."""
        with self.store.db.read() as tx:
            return reading.open_rows(tx, session_id)

    def summaries(
        self, without: Collection[str] = (), *, source: str | None = None, roots: bool, limit: int, offset: int = 0
    ) -> list[SummaryRow]:
        """Sessions that are not deleted, the last begun first, without those of some sources; no limit if negative."""
        size = _PAGE if limit < 0 or without else max(1, min(limit, 500))
        with self.store.db.read() as tx:
            listed = reading.listed(tx, source=source, roots=roots, size=size)
            found = (row for row in listed if row.source not in without)
            return list(islice(found, max(offset, 0), None if limit < 0 else max(offset, 0) + limit))

    def children(self, session_id: str) -> list[SummaryRow]:
        with self.store.db.read() as tx:
            return reading.children(tx, session_id)

    def titled(self, base: str) -> list[tuple[str, str]]:
        """(session, title) of those with a title, and of those whose title goes on with a number sign; the last begun
        first."""
        with self.store.db.read() as tx:
            return [(row.session_id, row.title) for row in reading.titled(tx, base)]

    def set_title(self, session_id: str, title: str | None) -> str | None:
        """Set a title that no other session has; the one that has it, if there is one, and nothing is set then."""
        return Session(self.store, session_id)._write(writing.set_title, title)

    def end(self, session_id: str, reason: str | None) -> None:
        """Say that it is over; the first reason stays."""
        Session(self.store, session_id)._write(writing.end, reason)

    def first_words(self, session_ids: list[str]) -> dict[str, str]:
        """What the user said first, by session."""
        with self.store.db.read() as tx:
            return reading.first_words(tx, session_ids)

    def count_sessions(self, source: str | None) -> int:
        with self.store.db.read() as tx:
            return reading.count_sessions(tx, source)

    # ------------------------------------------------------------ usage

    def tally(self, session_id: str, told: Told) -> None:
        """Count usage of the session as a whole, by model; with it goes what is said of the session."""
        key = f"{self._source}:{told.model or ''}"
        costs = (told.cost, told.computed, told.price)
        said = verbs.session_usage.Said.of(told.usage, told.model, *costs, self._source, key)
        Session(self.store, session_id)._write(_tally, said, told)

    def sums(self, session_ids: list[str]) -> dict[str, Sums]:
        """What was counted so, by session; those of which nothing was told are not in it."""
        with self.store.db.read() as tx:
            return tally.sums(tx, session_ids, self._source)


def _with_number(row: FoundRow, place: int, numbers: dict[tuple[str, int | None], NumberedRow]) -> FoundRow:
    known = numbers.get((row.message.id, row.place)) if row.number is None else None
    if known is not None:
        return row._replace(number=known.number, stamp=known.stamp)
    return row if row.number is not None else row._replace(number=-place)


def _of_name(tx: Tx, runtime: Runtime, name: str, verb: Any, *given: Any, **more: Any) -> Any:
    """A verb of the session that an application calls so."""
    return verb(tx, runtime, reading.named(tx, name), *given, **more)


def _answer(
    tx: Tx,
    runtime: Runtime,
    session_id: str,
    call_id: str,
    reply: Reply,
    otherwise: Any,
    note: Note,
    *,
    carefully: bool = False,
) -> int:
    turn = writing.waiting_for(tx, session_id, call_id)
    if turn is None:
        return writing.append(tx, runtime, session_id, otherwise, note, carefully=carefully)
    part = next(part for part in turn.fold.unresolved() if part["toolCallId"] == call_id)
    output, about = reply(part)
    said = verbs.results.checked_answer(call_id, output, None, None, None, about)
    return writing.put_result(tx, runtime, turn, said, note)


def _tally(tx: Tx, runtime: Runtime, session_id: str, said: Any, told: Told) -> None:
    heads.lock(tx, session_id, timestamps=0, events=0)  # what is decided by what stands there is read after this
    info = read_sessions.info(tx, session_id)
    model = told.model if told.model and not info.model.get("model_id") else None
    if model is not None:
        verbs.lifecycle.update(tx, runtime, session_id, verbs.lifecycle.Changes.of(None, {"model": model}))
    _change(tx, runtime, session_id, told.changes)
    tally.count(tx, runtime, session_id, said, told.absolute)


def _change(tx: Tx, runtime: Runtime, session_id: str, changes: Changes) -> None:
    heads.lock(tx, session_id, timestamps=0, events=0)
    changed = changes(read_sessions.info(tx, session_id).metadata)
    if changed:
        verbs.lifecycle.update_metadata(tx, runtime, session_id, verbs.lifecycle.metadata_changes(changed))


def _set_prompt(tx: Tx, runtime: Runtime, session_id: str, text: str | None, changes: Callable[..., Any]) -> None:
    digest = None if text is None else writing.keep_prompt(tx, text)
    _change(tx, runtime, session_id, lambda about: changes(about, digest))
