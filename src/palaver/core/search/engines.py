"""Candidates of the index, in order: the best first, or the newest first.

FTS5 answers a whole tree; Postgres answers each of its terms, and sets of numbers are put together here (see
search/tsquery.py). Both give never fewer documents than match.

Numbers rise as documents are indexed, times do not always: history from elsewhere is older than its number. Each
document knows the newest time of all up to it. So who walks down the numbers knows when nothing newer can follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain
from typing import NamedTuple, Protocol

from ...base import exact_json
from ...db.engine import Tx
from ...errors import IndexDamaged
from ...search import fts5, tsquery
from ...search.candidates import candidates
from ...search.tree import And, Node, Or, Term, positive_terms
from . import records
from .records import DocumentRow, RankedRow
from .sums import Checks

_FIRST, _MOST = 32, 2_000  # rows that are asked for at once
_TOP = 2**62
_BEST = -1e300

Key = tuple[int, str, str]  # of a document among the newest: its time, its message, its part


class Engine(Protocol):
    exact: bool  # what it gives is the answer; else each document is looked at

    def ranked(self, after: tuple[float, int]) -> Iterator[list[RankedRow]]:
        """Pages of documents, the best first."""
        ...

    def down(self, below: int) -> Iterator[list[DocumentRow]]:
        """The same, by their numbers downwards."""
        ...

    @property
    def can_rank(self) -> bool: ...


def refuse_damaged(tx: Tx, checks: Checks) -> None:
    """What was taken out of the index by another program, or by a disk, is not found: that is no empty answer."""
    if (why := damage_at_a_glance(tx)) is not None:
        raise IndexDamaged(why)
    if tx.words == "fts5":
        checks.some(tx)


def damage_at_a_glance(tx: Tx) -> str | None:
    found = records.words_standing.one(tx)
    if found is not None and (found.last != found.indexed or not found.has_pages):
        return "its words are not those of its documents"
    return found.told if found else None


def of(tx: Tx, tree: Node | None) -> Engine:
    return Fts5(tx, tree) if tx.words == "fts5" else Tsvector(tx, tree)


class Fts5:
    def __init__(self, tx: Tx, tree: Node | None) -> None:
        asked = fts5.lookup(tree)
        self._tx, self._match, self.exact = tx, asked.match, asked.exact
        self.can_rank = asked.match is not None

    def ranked(self, after: tuple[float, int]) -> Iterator[list[RankedRow]]:
        return _growing(
            lambda score, number, limit: records.ranked_words.all(
                self._tx, match=self._match, score=score, number=number, limit=limit
            ),
            after,
        )

    def down(self, below: int) -> Iterator[list[DocumentRow]]:
        if self._match is None:
            return _pages(lambda under, limit: records.newest_documents.all(self._tx, below=under, limit=limit), below)
        return _pages(
            lambda under, limit: records.newest_words.all(self._tx, match=self._match, below=under, limit=limit), below
        )


class Tsvector:
    def __init__(self, tx: Tx, tree: Node | None) -> None:
        asked = candidates(tree)
        self._tx, self._tree, self.exact = tx, asked.tree, asked.exact
        self._positive = [term for term in positive_terms(asked.tree) if term.words]
        self.can_rank = _speaks(asked.tree)
        self._found: tsquery.Found | None = None

    def ranked(self, after: tuple[float, int]) -> Iterator[list[RankedRow]]:
        """One term is ranked where it is looked up; of more, the documents are known first."""
        query = " | ".join(f"({tsquery.tsquery(term)})" for term in self._positive)
        # Nothing that can be ranked is inverted.
        numbers = "" if isinstance(self._tree, Term) else _array(self._combined().numbers)
        if numbers == "{}":
            return iter([])
        return _growing(
            lambda score, number, limit: records.ranked_slices.all(
                self._tx, wanted=query, numbers=numbers, score=score, number=number, limit=limit
            ),
            after,
        )

    def _combined(self) -> tsquery.Found:
        if self._found is None:
            self._found = tsquery.combine(self._tree, self._look_up)
        return self._found

    def _look_up(self, query: str) -> frozenset[int]:
        return frozenset(row.number for row in records.numbers_of_words.all(self._tx, wanted=query))

    def down(self, below: int) -> Iterator[list[DocumentRow]]:
        found = self._combined()
        if not found.inverted:
            yield from self._down_numbers(sorted((n for n in found.numbers if n < below), reverse=True))
            return
        pages = _pages(lambda under, limit: records.newest_documents.all(self._tx, below=under, limit=limit), below)
        for page in pages:
            yield [row for row in page if row.number not in found.numbers]

    def _down_numbers(self, numbers: list[int]) -> Iterator[list[DocumentRow]]:
        at, size = 0, _FIRST
        while at < len(numbers):
            yield records.documents_of_numbers.all(self._tx, numbers=_array(numbers[at : at + size]))
            at, size = at + size, min(size * 4, _MOST)


def _speaks(node: Node | None) -> bool:
    """Whether each document that matches has one of the terms."""
    match node:
        case Term(words):
            return bool(words)
        case And(parts):
            return any(map(_speaks, parts))
        case Or(parts):
            return all(map(_speaks, parts))
    return False


def _array(numbers: frozenset[int] | list[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _growing(ask: Callable[[float, int, int], list[RankedRow]], after: tuple[float, int]) -> Iterator[list[RankedRow]]:
    (score, number), size = after, _FIRST
    while True:
        page = ask(score, number, size)
        _refuse_rotten(page)
        yield page
        if len(page) < size:
            return
        score, number, size = page[-1].score, page[-1].number, min(size * 8, 50_000)


def _pages(ask: Callable[[int, int], list[DocumentRow]], below: int) -> Iterator[list[DocumentRow]]:
    size = _FIRST
    while page := ask(below, size):
        _refuse_rotten(page)
        yield page
        below, size = page[-1].number, min(size * 4, _MOST)


def _refuse_rotten(page: Sequence[DocumentRow | RankedRow]) -> None:
    """SQLite gives whatever a column holds; and where words have no document, nothing."""
    for row in page:
        is_right = type(row.at) is int and type(row.newest) is int and type(row.message_id) is str
        if not is_right or not (row.message_id.isascii() or not exact_json.has_surrogates(row.message_id)):
            raise IndexDamaged("a document is not as it was written")


def best(engine: Engine, after: tuple[float, int] | None) -> Iterator[RankedRow]:
    return chain.from_iterable(engine.ranked(after or (_BEST, 0)))


# ---------------------------------------------------------------- newest first


def key_of(row: DocumentRow) -> Key:
    return row.at, row.message_id, row.part_id or ""


class _Waiting(NamedTuple):
    """A document that waits until nothing newer can come; a heap gives the smallest first."""

    at: int
    message: _Down
    part: _Down
    row: DocumentRow


class _Down(str):
    """A text that sorts the other way round."""

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)

    def __gt__(self, other: str) -> bool:
        return str.__lt__(self, other)


class Newest:
    """The candidates by their times, the newest first; `reached` is the number from which a later walk may start."""

    def __init__(self, engine: Engine, below: int | None) -> None:
        self._engine, self._below = engine, _TOP if below is None else below
        self._waiting: list[_Waiting] = []
        self._reached, self._given = self._below, 0

    @property
    def reached(self) -> int:
        """The last that was given is in it: whoever took it may not have used it yet."""
        return max([self._reached, self._given, *(each.row.number + 1 for each in self._waiting)])

    def __iter__(self) -> Iterator[DocumentRow]:
        for page in self._engine.down(self._below):
            for row in page:
                self._reached = row.number + 1
                yield from self._until(row.newest)  # which no later one is above
                heappush(self._waiting, _Waiting(-row.at, _Down(row.message_id), _Down(row.part_id or ""), row))
        self._reached = 0
        yield from self._until(-_TOP)

    def _until(self, newest: int) -> Iterator[DocumentRow]:
        while self._waiting and -self._waiting[0].at > newest:
            row = heappop(self._waiting).row
            self._given = row.number + 1
            yield row
