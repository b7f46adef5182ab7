"""Indexing: what search finds of the turns that nobody writes any more.

It is done a little after the seal, in batches, so that no writer waits for it: words are made before the transaction
that stores them. A turn that waits is indexed as it stands, and again when it is sealed. Of several processes that
index at once, one goes on, and the others try later.

Making the index again (`begin_again`) takes everything out of it, and then goes through all turns by their ids; a mark
says how far it has come, so whoever opens the store next goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import NamedTuple

import msgspec

from ...base.clock import monotonic
from ...db.engine import Database, Tx
from ...db.queries import Q
from ...errors import IndexDamaged, StoreCorrupt
from ...search.documents import Document
from ...search.slices import slices
from ...search.words import TITLED, Segments, segment
from .. import damage
from ..search import documents, loose, records, sums
from ..search.documents import Stored, checksum
from ..search.records import DocumentRow, TurnToIndexRow
from ..search.tail import State, state

_TURNS = 100  # in a batch,
_DOCUMENTS = 200
_CHARACTERS = 1 << 20  # at most
_MANY = 1_000  # turns, after which the index is merged; so many pages at once:
_PAGES = 500
_OTHERS = 0.02  # seconds after which it is tried again where somebody else indexes
_INDEXED, _NOT, _AS_IT_WAITS = 0, 1, 2

Progress = Callable[[int, int], None]  # turns that were indexed, and all


class New(NamedTuple):
    """A document as the index gets it."""

    message_id: str
    part_id: str | None
    role: str
    at: int
    titled: str | None
    words: Segments
    checksum: int

    def is_in(self, row: DocumentRow) -> bool:
        mine = (self.part_id, self.role, self.at, self.titled, self.checksum)
        return mine == (row.part_id, row.role, row.at, row.titled, row.checksum)


class _Turn(NamedTuple):
    row: TurnToIndexRow
    messages: dict[str, list[New]]  # by the ids of all that it lists
    is_titled: bool  # the title of its session is in one of the documents;
    title: str | None  # as it was read


class _Batch(NamedTuple):
    state: State
    sealed: list[_Turn]
    waiting: list[TurnToIndexRow]
    last: str | None  # the turn that a mark goes to
    is_all: bool = True  # that is left

    @property
    def size(self) -> int:
        return len(self.sealed) + len(self.waiting)


# ---------------------------------------------------------------- a store


def index_all(db: Database, progress: Progress | None = None, seconds: float | None = None) -> int:
    """Until nothing is left, or so long; how many turns."""
    began, count, total = monotonic(), 0, 0
    while seconds is None or monotonic() - began < seconds:
        done = index_batch(db)
        if not done:
            if not are_any_left(db):
                break
            sleep(_OTHERS)
        count += done
        if progress is not None:
            total = total or count + how_many_are_left(db)
            progress(count, max(total, count))
    if seconds is None and count >= _MANY:
        merge(db)
    return count


def merge(db: Database) -> None:
    """Small batches leave many segments in FTS5, and a phrase is looked for in each; make one of them, step by step."""
    is_more = merge_step(db, begins=True)
    while is_more:
        is_more = merge_step(db)


def merge_step(db: Database, *, begins: bool = False) -> bool:
    """Whether there is more to merge."""
    with db.write() as tx:
        return tx.words == "fts5" and _merge_step(tx, -_PAGES if begins else _PAGES)


def _merge_step(tx: Tx, pages: int) -> bool:
    with _summing(tx):
        before = _rows_changed(tx)
        tx.run(Q.merge_words, pages=pages)
        return _rows_changed(tx) - before >= 2  # as FTS5 tells it


def _rows_changed(tx: Tx) -> int:
    found = records.rows_changed.one(tx)
    return found.rows if found else 0


def index_batch(db: Database) -> int:
    """One short transaction; how many turns. 0: nothing is left, or somebody else indexes."""
    with db.read() as tx:
        batch = _next(tx)
    if not batch.size and batch.state.mark is None:
        return 0
    with db.write() as tx:
        _lock(tx, batch)  # sessions first, as who mends does: else two would wait for each other
        if not _hold(tx) or state(tx).mark != batch.state.mark:
            return 0
        _write(tx, batch)
    return batch.size


def are_any_left(db: Database) -> bool:
    with db.read() as tx:
        return state(tx).mark is not None or bool(records.turns_to_index.all(tx, limit=1))


def how_many_are_left(db: Database) -> int:
    with db.read() as tx:
        mark = state(tx).mark
        if mark is None:
            return _count(records.count_unindexed.one(tx))
        return _count(records.count_turns.one(tx)) - _count(records.count_turns_up_to.one(tx, turn=mark))


def _count(row: records.CountRow | None) -> int:
    return row.turns if row else 0


def begin_again(db: Database) -> None:
    """Take everything out of the index; what follows goes through all turns."""
    try:
        _empty(db)
    except (IndexDamaged, StoreCorrupt):  # so damaged that it cannot be emptied
        _empty(db, by_force=True)


def _empty(db: Database, *, by_force: bool = False) -> None:
    with db.write(hard=True) as tx:
        tx.run(Q.index_moved)
        if by_force:
            tx.replace_words()
        else:
            tx.clear_words()
            tx.run(Q.drop_documents)
        tx.run(Q.set_index_mark, mark="")
        tx.run(Q.tell_no_damage)
        if tx.words == "fts5":
            _put_sums(tx, sums.counted(tx))


# ---------------------------------------------------------------- a batch


def _next(tx: Tx) -> _Batch:
    now = state(tx)
    if now.mark is None:
        turns = records.turns_to_index.all(tx, limit=_TURNS)
    else:
        turns = records.turns_to_index_again.all(tx, after=now.mark, limit=_TURNS)
    batch = _Batch(now, [], [], None, is_all=len(turns) < _TURNS)
    count = characters = 0
    for row in turns:
        if count >= _DOCUMENTS or characters >= _CHARACTERS:
            return batch._replace(is_all=False)
        batch = batch._replace(last=row.id)
        if row.sealed_at is None:
            batch.waiting.append(row)
            continue
        turn, size = _prepared(tx, row)
        batch.sealed.append(turn)
        count += sum(map(len, turn.messages.values()))
        characters += size
    return batch


def _prepared(tx: Tx, row: TurnToIndexRow) -> tuple[_Turn, int]:
    """With how many characters it has."""
    messages: dict[str, list[New]] = {}
    size = 0
    for stored in _stored(tx, row):
        messages[stored.id] = new_documents(stored)
        size += sum(len(document.text) for document in stored.documents)
    is_titled = any(new.titled for found in messages.values() for new in found)
    return _Turn(row, messages, is_titled, documents.title(tx, row.session_id) if is_titled else None), size


def _stored(tx: Tx, row: TurnToIndexRow) -> Iterable[Stored]:
    try:
        return list(documents.of_turn(tx, row))
    except damage.RAISED:  # what cannot be read is not indexed; verify names it
        return []


def new_documents(stored: Stored) -> list[New]:
    """What a title may come to has a document, also without words: so it is found again when the title changes."""
    found = [
        _new(stored, document.part_id, document.role, _words(document), is_own=document.part_id is None)
        for document in stored.documents
    ]
    if stored.titled and not any(new.part_id is None for new in found):
        found.append(_new(stored, None, stored.role, Segments([], []), is_own=True))
    return found


def _words(document: Document) -> Segments:
    found = segment(document.text)
    return Segments(found.words, [*found.pieces, TITLED]) if document.title else found


def _new(stored: Stored, part_id: str | None, role: str, words: Segments, *, is_own: bool) -> New:
    return New(stored.id, part_id, role, stored.at, stored.titled if is_own else None, words, checksum(words))


def _hold(tx: Tx) -> bool:
    """Whether nobody else indexes now. The row is made by the first who does."""
    return bool(records.hold_index.all(tx)) or state(tx).moves == 0


def _lock(tx: Tx, batch: _Batch) -> None:
    """What may change after all is looked at once more, under the lock of its session: a title, and what waits."""
    titled = [turn.row for turn in batch.sealed if turn.is_titled]
    for session_id in sorted({row.session_id for row in (*titled, *batch.waiting)}):
        tx.one(Q.lock_session, session=session_id)


def _write(tx: Tx, batch: _Batch) -> None:
    with _moving(tx):
        _write_turns(tx, batch)
    _mark(tx, batch)
    if batch.is_all:  # else who comes next looks
        _look(tx, batch.state)


@contextmanager
def _moving(tx: Tx) -> Iterator[None]:
    """Whoever changes the index does it inside of this."""
    tx.run(Q.index_moved)
    with _summing(tx, moved=1):
        yield


@contextmanager
def _summing(tx: Tx, *, moved: int = 0) -> Iterator[None]:
    if tx.words != "fts5":
        yield
        return
    before, changes = sums.stored(tx, moved=moved), sums.Changes()
    before = sums.counted(tx) if before is None else before
    tx.watch_words(changes.note)
    try:
        yield
        tx.run(Q.flush_words)  # after all that was deferred
    finally:
        tx.watch_words(None)
    _put_sums(tx, changes.on(before))


def _put_sums(tx: Tx, now: sums.Sums) -> None:
    tx.run(Q.set_index_sums, sums=sums.to_store(tx, now))


def _write_turns(tx: Tx, batch: _Batch) -> None:
    index = _Index(tx)
    index.look_up(batch.sealed)
    for turn in batch.sealed:
        if not turn.is_titled or documents.title(tx, turn.row.session_id) == turn.title:
            index.put(turn.messages)
            tx.defer(Q.set_indexed, turn=turn.row.id, mark=_INDEXED)
        elif batch.state.mark is not None:  # it goes by its id: this one does not come again
            tx.defer(Q.set_indexed, turn=turn.row.id, mark=_NOT)
    for row in batch.waiting:
        _put_waiting(tx, index, row)


def _put_waiting(tx: Tx, index: _Index, row: TurnToIndexRow) -> None:
    now = records.turn_to_index.one(tx, turn=row.id)
    if now is not None and now.sealed_at is None and now.status == "waiting":
        turn, _ = _prepared(tx, now)
        index.put(turn.messages)
        tx.defer(Q.set_indexed, turn=now.id, mark=_AS_IT_WAITS)


def _mark(tx: Tx, batch: _Batch) -> None:
    if batch.state.mark is None:
        return
    if batch.last is None:
        tx.run(Q.drop_index_mark)
    else:
        tx.run(Q.set_index_mark, mark=batch.last)


def look(db: Database) -> None:
    with db.write() as tx:
        _look(tx, state(tx))


def _look(tx: Tx, before: State) -> None:
    """Remember up to where rows of other programs are known: then a search looks only at what came since."""
    now = loose.newest(tx, before.looked)
    if now is not None:
        tx.run(Q.set_index_looked, looked=msgspec.json.encode(now).decode())


class _Index:
    """Documents come and go, each with the next number."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        last = records.last_document.one(tx)
        self._number, self._newest = (last.number, last.newest) if last else (0, -(2**62))
        self._there: dict[str, list[DocumentRow]] = {}

    def look_up(self, turns: Iterable[_Turn]) -> None:
        """What is there of all these messages, in one question: on a server each would be a round trip."""
        if self._tx.words == "fts5":
            return
        ids = (message_id for turn in turns for message_id in turn.messages)
        self._there = {each: [] for each in ids if each.isascii() and each.isidentifier()}  # as all of ours are
        for row in records.documents_of_messages.all(self._tx, messages="{" + ",".join(self._there) + "}"):
            self._there[row.message_id].append(row)

    def put(self, messages: dict[str, list[New]]) -> None:
        """What these messages have; what is there already, word for word, stays."""
        for message_id, wanted in messages.items():
            there = self._there.pop(message_id, None)
            if there is None:
                there = records.documents_of_message.all(self._tx, message=message_id)
            for row in there:
                if not any(new.is_in(row) for new in wanted):
                    drop(self._tx, row.number)
            for new in wanted:
                if not any(new.is_in(row) for row in there):
                    self._add(new)

    def _add(self, new: New) -> None:
        tx = self._tx
        self._number += 1
        self._newest = max(self._newest, new.at)
        told = {"message": new.message_id, "part": new.part_id, "role": new.role, "at": new.at, "titled": new.titled}
        tx.defer(Q.put_document, number=self._number, newest=self._newest, checksum=new.checksum, **told)
        if tx.words == "fts5":
            words, pieces = " ".join(new.words.words), " ".join(new.words.pieces)
            tx.defer(Q.put_words, number=self._number, words=words, pieces=pieces)
            return
        for place, text in enumerate([*slices(new.words.words, new.words.pieces)] or [""]):
            tx.defer(Q.put_slice, number=self._number, slice=place, words=text)


def index_turn(tx: Tx, turn_id: str) -> None:
    """One turn, in the caller's transaction."""
    row = records.turn_to_index.one(tx, turn=turn_id)
    if row is not None:
        turn, _ = _prepared(tx, row)
        with _moving(tx):
            _Index(tx).put(turn.messages)


# ---------------------------------------------------------------- what goes


def drop(tx: Tx, number: int) -> None:
    tx.defer(Q.drop_words, number=number)
    tx.defer(Q.drop_document, number=number)


def forget(tx: Tx, message_ids: Iterable[str]) -> int:
    """What goes from the store goes from the index, by this; how many documents."""
    found = [row for message in message_ids for row in records.documents_of_message.all(tx, message=message)]
    if found:
        with _moving(tx):
            for row in found:
                drop(tx, row.number)
    return len(found)
