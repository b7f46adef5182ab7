"""Checksums of the index on SQLite, so that what a disk or another program did to it is told.

FTS5 takes whatever it reads for words: a page that rotted may only lack some. So the sum of the checksums of all rows
that make up the index is kept beside it, in pieces, and changed with every row, in the same transaction (see
upkeep/indexing.py). A search compares some of the pieces, maintenance and `verify` all of them. Postgres looks after
its own pages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from ...db.engine import Tx
from ...errors import IndexDamaged
from ..rows import Select
from . import records

_PAGES, _ROWS = 7, 12  # so many bits of a number are inside of a piece
_NEW, _AGAIN = 4 << 20, 1 << 19  # bytes that a search compares: of what it has not compared yet, and of all, in turn
_SMALL = 200  # bytes that take as long as a small row does
_QUICK = "dtc"  # the kinds that it compares: without these it would find less

_MOVES = "moves"  # beside the sums: which state of the index they are of

Sums = dict[str, int]


def _of_page(row: records.WordsPageRow) -> int:
    return crc32(row.block, row.id & 0xFFFF_FFFF) if type(row.block) is bytes else _of_any(row)


def _of_term(row: records.WordsTermRow) -> int:
    is_right = type(row.term) is bytes and type(row.pgno) is int
    return crc32(row.term, row.pgno & 0xFFFF_FFFF) if is_right else _of_any(row)


def _of_any(row: tuple[Any, ...]) -> int:
    return crc32(repr(tuple(row)).encode("utf-8", "surrogatepass"))


def _between(select: Select[Any], bits: int) -> Callable[[Tx, int], list[Any]]:
    return lambda tx, piece: select.all(tx, first=piece << bits, last=((piece + 1) << bits) - 1)


class Kind(NamedTuple):
    """A table of the index."""

    table: str
    everything: Select[Any]
    piece: Callable[[Any], int]  # that a row is in
    read: Callable[[Tx, int], list[Any]]  # the rows of a piece
    sum_of: Callable[[Any], int] = _of_any  # a row


_KINDS = {
    "d": Kind(
        "document_words_data",
        records.all_words_pages,
        lambda row: row.id >> _PAGES,
        _between(records.words_pages, _PAGES),
        _of_page,
    ),
    "t": Kind(
        "document_words_idx",
        records.all_words_terms,
        lambda row: row.segid,
        lambda tx, piece: records.words_terms.all(tx, segment=piece),
        _of_term,
    ),
    "c": Kind(
        "document_words_config",
        records.words_settings,
        lambda row: 0,
        lambda tx, _: records.words_settings.all(tx),
    ),
    "s": Kind(
        "document_words_docsize",
        records.all_words_sizes,
        lambda row: row.id >> _ROWS,
        _between(records.words_sizes, _ROWS),
    ),
    "o": Kind(
        "documents",
        records.all_documents,
        lambda row: row.number >> _ROWS,
        _between(records.documents_between, _ROWS),
    ),
}
_LETTERS = {kind.table: letter for letter, kind in _KINDS.items()}


# ---------------------------------------------------------------- keeping


class Changes:
    """What a transaction changes in the sums."""

    def __init__(self) -> None:
        self._sums: Sums = {}

    def note(self, table: str, before: tuple[Any, ...] | None, after: tuple[Any, ...] | None) -> None:
        """Of a row that is put, changed or taken out."""
        letter = _LETTERS.get(table)
        if letter is None:
            return
        kind = _KINDS[letter]
        for values, sign in ((before, -1), (after, 1)):
            if values is not None:
                row = kind.everything.row._make(values)
                name = f"{letter}{kind.piece(row)}"
                self._sums[name] = self._sums.get(name, 0) + sign * kind.sum_of(row)

    def on(self, before: Sums) -> Sums:
        names = before.keys() | self._sums.keys()
        both = ((name, before.get(name, 0) + self._sums.get(name, 0)) for name in sorted(names))
        return {name: total for name, total in both if total}


def stored(tx: Tx, *, moved: int = 0) -> Sums | None:
    """None: nobody has written any, or a program of an older version, which knows of none, has written to the index
    since. `moved`: how often this transaction itself has."""
    row = records.index_sums.one(tx)
    try:
        found = msgspec.json.decode(row.value, type=Sums) if row else None
    except msgspec.DecodeError as error:
        raise IndexDamaged("its checksums cannot be read") from error
    if found is None or found.pop(_MOVES, None) != moves(tx) - moved:
        return None
    return found


def moves(tx: Tx) -> int:
    """How often the index was written, by programs of any version."""
    found = [row.value for row in records.index_state.all(tx) if row.name == "search"]
    return int(found[0]) if found and found[0].isdecimal() else 0


def to_store(tx: Tx, now: Sums) -> str:
    return msgspec.json.encode({**now, _MOVES: moves(tx)}).decode()


def counted(tx: Tx) -> Sums:
    """Of all that is there."""
    changes = Changes()
    for kind in _KINDS.values():
        for row in kind.everything.all(tx):
            changes.note(kind.table, None, row)
    return changes.on({})


# ---------------------------------------------------------------- comparing


def refuse_other(tx: Tx, name: str, expected: int) -> int:
    """Compare one piece; how many bytes it has, about."""
    kind, total, size = _KINDS[name[0]], 0, 0
    for row in kind.read(tx, int(name[1:])):
        total += kind.sum_of(row)
        size += len(row.block or "") if name[0] == "d" else _SMALL
    if total != expected:
        raise IndexDamaged(f"piece {name} of it is not as it was written")
    return size


class Checks:
    """What a store has compared, in the order in which it did."""

    def __init__(self) -> None:
        self._known: Sums = {}

    def some(self, tx: Tx) -> None:
        """As much as a search does in passing: what is new to this store first, then what it has not compared for the
        longest time. Of a small index that is all of it, each time."""
        now = stored(tx) or {}
        known = [name for name in list(self._known) if name in now]
        new = [name for name, total in now.items() if name[0] in _QUICK and self._known.get(name) != total]
        size = 0
        for place, name in enumerate(dict.fromkeys([*new, *known])):
            if size >= (_NEW if place < len(new) else _AGAIN):
                break
            size += refuse_other(tx, name, now[name])
            self._known.pop(name, None)
            self._known[name] = now[name]


class Doubts:
    """Of one search: documents of which something is not there that they name. A message may have gone; or the row of
    the document is damaged."""

    def __init__(self, tx: Tx) -> None:
        self._tx, self._settled = tx, set[str]()

    def settle(self, number: int) -> None:
        name = f"o{number >> _ROWS}"
        if self._tx.words != "fts5" or name in self._settled:
            return
        self._settled.add(name)
        kept = stored(self._tx)
        if kept is not None:
            refuse_other(self._tx, name, kept.get(name, 0))


def refuse_any_other(tx: Tx, after: str = "", most: int = 1 << 62) -> str | None:
    """Compare pieces of all kinds, by their names, from one on; the last, if there may be more."""
    now, size = stored(tx) or {}, 0
    for name in sorted(name for name in now if name > after):
        size += refuse_other(tx, name, now[name])
        if size >= most:
            return name
    return None
