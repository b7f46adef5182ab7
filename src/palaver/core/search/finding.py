"""One page of a search: candidates in order, each looked at, until the page is full.

By rank, what is not indexed yet comes first, the newest first; then what the index gives, the best first. Newest first,
both are merged by the time of the message, then its id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import msgspec

from ...base import arguments
from ...base.clock import now_ms
from ...db.engine import Tx
from ...errors import BadValue
from ...model import Hit, SearchPage
from ...search.characters import fold
from ...search.documents import Document, spoken_text
from ...search.match import Text, matches
from ...search.query import parse
from ...search.tree import Filter, Query, has_not, without_not
from . import cursors, documents, engines, suggestions, tail
from .ahead import Ahead
from .cursors import Cursor
from .documents import Stored
from .engines import Newest
from .fields import Candidate, Fields
from .hits import Shown
from .records import DocumentRow, MessageRow, RankedRow
from .sight import Seen, Sight
from .sums import Checks, Doubts
from .tail import Tail

_MOST = 1_000  # hits of a page
_TOP = 2**62  # above all numbers
_AHEAD = 50  # documents of which is read at once

D = TypeVar("D", DocumentRow, RankedRow)


_OF_ROW: dict[str, Callable[[DocumentRow | RankedRow, Any], bool]] = {
    "before": lambda row, value: row.at < int(value),
    "after": lambda row, value: row.at >= int(value),
    "role": lambda row, value: fold(row.role) == fold(str(value)),
}


class Wanted(NamedTuple):
    """What a caller asks for, checked."""

    typed: str
    now: int
    order: str
    limit: int
    per_session: bool
    archived: bool
    hidden: bool
    query: Query | None = None  # None: what was typed says it
    plain: bool = False  # neither titles nor what was thought count

    @classmethod
    def of(cls, typed: Any, order: Any, limit: Any, *, per_session: Any, archived: Any, hidden: Any) -> Wanted:
        """As a caller gave it."""
        arguments.text("query", typed)
        arguments.whole("limit", limit, least=1, most=_MOST)
        flags = {"per_session": per_session, "archived": archived, "hidden": hidden}
        for name, flag in flags.items():
            arguments.flag(name, flag)
        if order not in ("rank", "newest"):
            raise BadValue(f"order is rank or newest, not {arguments.shown(order)}")
        return cls(typed, now_ms(), order, limit, **flags)

    def asked(self) -> cursors.Asked:
        said = repr((self.typed, self.per_session, self.archived, self.hidden))
        return cursors.Asked(self.order, crc32(said.encode("utf-8", "surrogatepass")))


class _Found(NamedTuple):
    """A hit to be, and the cursor that comes after it."""

    one: Candidate
    after: Cursor


class Looked(NamedTuple):
    """The candidates of a page, the cursor behind them, and all that was read for them."""

    found: list[Candidate]
    following: str | None
    search: _Search


def page(tx: Tx, wanted: Wanted, after: str | None, checks: Checks) -> SearchPage:
    query = asked_for(wanted)
    looked = look(tx, wanted, after, checks)
    if looked is None:
        return SearchPage([], cut=query.cut)
    search = looked.search
    hits: list[Hit] = Shown(tx, query.tree, search.ahead).hits(looked.found)
    finds = partial(_finds, tx, wanted, search.tail)
    meant = None if hits or after else suggestions.suggestion(tx, query.tree, wanted.typed, search.tail, finds)
    told = {"moved": search.has_moved, "cut": query.cut}
    return SearchPage(hits, looked.following, indexed_through=search.tail.through, suggestion=meant, **told)


def asked_for(wanted: Wanted) -> Query:
    return parse(wanted.typed, now=wanted.now) if wanted.query is None else wanted.query


def look(tx: Tx, wanted: Wanted, after: str | None, checks: Checks) -> Looked | None:
    """None: nothing is asked for, or of nobody."""
    query = asked_for(wanted)
    start = None if after is None else cursors.decode(after, wanted.asked())
    if query.tree is None and not query.filters:
        return None
    engines.refuse_damaged(tx, checks)
    search = _Search(tx, wanted, query, start)
    if search.names_nobody:
        return None
    found = search.take(wanted.limit + 1)
    following = cursors.encode(search.after(found[: wanted.limit])) if len(found) > wanted.limit else None
    return Looked([each.one for each in found[: wanted.limit]], following, search)


def _finds(tx: Tx, wanted: Wanted, tail: Tail, typed: str) -> bool:
    wanted = wanted._replace(typed=typed)
    return bool(_Search(tx, wanted, parse(typed, now=wanted.now), None, tail).take(1))


class _Search:
    def __init__(self, tx: Tx, wanted: Wanted, query: Query, start: Cursor | None, known: Tail | None = None) -> None:
        self._tx, self._wanted, self._query, self._start = tx, wanted, query, start
        self._state = tail.state(tx)
        self.tail = known or Tail(tx, self._state)
        self._has_met_tail = False
        self._below = _TOP
        self._engine = engines.of(tx, without_not(query.tree) if wanted.plain else query.tree)
        self._excludes = has_not(query.tree)
        self.ahead = Ahead(tx)
        self._fields = Fields(tx)
        self._doubts = Doubts(tx)
        only, self._filters = self._named_sessions()
        self._sight = Sight(tx, self.ahead, archived=wanted.archived, hidden=wanted.hidden, only=only)
        self.names_nobody = only is not None and not only
        self._taken: dict[str, None] = dict.fromkeys(start.sessions if start else ())
        self._by_rank = wanted.order == "rank" and self._engine.can_rank

    @property
    def has_moved(self) -> bool:
        """Also where something of the index is in the tail again, which a page before may have gone through."""
        is_another = self._start is not None and self._start.moves != self._state.moves
        return self._by_rank and (is_another or self._has_met_tail)

    def _named_sessions(self) -> tuple[set[str] | None, tuple[Filter, ...]]:
        """`session:` of the whole query says under whose name hits are found."""
        named = [each for each in self._query.filters if each.field.name == "session" and not each.negated]
        rest = tuple(each for each in self._query.filters if each not in named)
        if not named:
            return None, rest
        sets = [self._fields.sessions(str(each.field.value)) for each in named]
        return set.intersection(*sets), rest

    def take(self, count: int) -> list[_Found]:
        found: list[_Found] = []
        for each in self._ranked() if self._by_rank else self._newest():
            if self._wanted.per_session and self._is_taken(each.one.seen):
                continue
            self._taken[each.one.seen.session.id] = None
            found.append(each)
            if len(found) == count:
                break
        return found

    def _is_taken(self, seen: Seen) -> bool:
        return self._wanted.per_session and seen.session.id in self._taken

    def after(self, found: list[_Found]) -> Cursor:
        """The cursor behind these."""
        cursor = found[-1].after
        if not self._wanted.per_session:
            return cursor
        before = self._start.sessions if self._start else ()
        taken = (*before, *(each.one.seen.session.id for each in found))
        return msgspec.structs.replace(cursor, sessions=taken)

    # ------------------------------------------------------------ in order

    def _ranked(self) -> Iterator[_Found]:
        start = self._start
        if start is None or start.score is None:
            for one in self._in_tail(start.key if start else None):
                at, message, part = _key_of(one)
                yield _Found(one, self._cursor(at=at, message=message, part=part))
        behind = (start.score, start.number) if start and start.score is not None else None
        for row, one in self._of_index(engines.best(self._engine, behind)):
            yield _Found(one, self._cursor(score=row.score, number=row.number))

    def _newest(self) -> Iterator[_Found]:
        start = self._start
        stands = start is not None and start.moves == self._state.moves
        newest = Newest(self._engine, start.below if start and stands else None)
        key = start.key if start else None
        for one in merge(self._in_tail(key), self._indexed(newest, key), key=_key_of, reverse=True):
            at, message, part = _key_of(one)
            yield _Found(one, self._cursor(at=at, message=message, part=part, below=self._below))

    def _indexed(self, newest: Newest, key: engines.Key | None) -> Iterator[Candidate]:
        """What was reached when each row was given is kept: others are read before it is used."""
        reached: dict[int, int] = {}
        rows = (row for row in newest if key is None or engines.key_of(row) < key)
        noted = (reached.update({row.number: newest.reached}) or row for row in rows)
        for row, one in self._of_index(noted):
            self._below = reached[row.number]
            yield one

    def _cursor(self, **given: object) -> Cursor:
        asked = self._wanted.asked()
        return Cursor(asked.order, asked.checksum, self._state.moves, **given)  # type: ignore[arg-type]

    # ------------------------------------------------------------ one by one

    def _in_tail(self, below: engines.Key | None) -> Iterator[Candidate]:
        for stored, document in self.tail:
            if below is not None and (stored.at, stored.id, document.key) >= below:
                continue
            seen = self._sight.of(stored.id, stored.session_id, stored.metadata)
            one = self._candidate(stored, document, seen) if seen else None
            if one and self._fields.has_all(one, self._filters) and self._is_match(one):
                yield one

    def _of_index(self, rows: Iterator[D]) -> Iterator[tuple[D, Candidate]]:
        """The candidates of documents, as many as a page has at once: what is read of them is read together."""
        while some := list(islice(rows, min(self._wanted.limit + 1, _AHEAD))):
            asked = [row for row in some if self._is_asked(row)]
            self.ahead.read_messages(row.message_id for row in asked)
            messages = [(row, self.ahead.message(row.message_id)) for row in asked]
            self.ahead.read_sessions(message.session_id for _, message in messages if message)
            seen = [(row, each) for row, message in messages for each in self._seen(row, message)]
            self.ahead.read_parts(message.id for _, (message, _) in seen)
            yield from ((row, one) for row, (message, by) in seen for one in self._documents(row, message, by))

    def _is_asked(self, row: DocumentRow | RankedRow) -> bool:
        if row.message_id in self.tail.messages:
            self._has_met_tail |= self._start is not None and self._start.score is not None
            return False
        return self._may_have(row)

    def _seen(self, row: DocumentRow | RankedRow, message: MessageRow | None) -> Iterator[tuple[MessageRow, Seen]]:
        """The message of a document, if it is there and seen, and its session has the fields."""
        if message is None:
            self._doubts.settle(row.number)
            return
        seen = self._sight.of(message.id, message.session_id, message.metadata_json)
        if seen is not None and self._fields.may_have(seen, self._filters):
            yield message, seen

    def _documents(self, row: DocumentRow | RankedRow, message: MessageRow, seen: Seen) -> Iterator[Candidate]:
        if self._is_taken(seen):
            return
        for stored in documents.readable(self._tx, message, None, row.titled, self.ahead.parts(message.id)):
            mine = [document for document in stored.documents if document.part_id == row.part_id]
            if not mine:
                self._doubts.settle(row.number)
            yield from (one for document in mine if self._fits(one := self._candidate(stored, document, seen)))

    def _candidate(self, stored: Stored, document: Document, seen: Seen) -> Candidate:
        if self._wanted.plain and document.place < 0:
            document = document._replace(text=spoken_text(stored.parts), title=0)
        return Candidate(stored, document, seen)

    def _fits(self, one: Candidate) -> bool:
        is_sure = (
            self._engine.exact
            and not self._wanted.plain
            and not one.is_untitled
            and not (one.document.title and self._excludes)
        )
        return self._fields.has_all(one, self._filters) and (is_sure or self._is_match(one))

    def _may_have(self, row: DocumentRow | RankedRow) -> bool:
        """What the row itself says of the fields, before anything is read."""
        asked = ((_OF_ROW.get(each.field.name), each) for each in self._filters)
        return all(asks is None or asks(row, each.field.value) != each.negated for asks, each in asked)

    def _is_match(self, one: Candidate) -> bool:
        return matches(self._query.tree, Text(one.document.text), lambda field: self._fields.has(one, field))


def _key_of(one: Candidate) -> engines.Key:
    return one.stored.at, one.stored.id, one.document.key
