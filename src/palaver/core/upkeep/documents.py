"""The search index beside what it is made of: each turn that counts as indexed has its documents, word for word, and no
document is left of what is gone. What is wrong is indexed again by `fix`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...db.engine import Tx
from ...errors import IndexDamaged
from ...model import Problem
from .. import damage
from ..search import documents, engines, records, sums
from ..search.documents import Stored
from ..search.records import DocumentRow, TurnToIndexRow
from ..search.tail import state
from . import indexing, mending, windows
from .findings import Finding, stale
from .indexing import New

_RULE = "search"


def compare(tx: Tx, altered: set[str]) -> Iterator[Finding]:
    """Where truth was `altered`, the index may be all that is left of it."""
    if not _is_whole(tx):
        what = "the search index is damaged; reindex() makes it again"
        yield Finding(Problem(_RULE, "document_words", what, copy=True))
    mark = state(tx).mark
    for page in windows.pages(tx, records.indexed_turns, windows.TURNS):
        for turn in page:
            if mark is None or turn.id <= mark:
                yield from _turn(tx, turn, altered)
    yield from _left(tx)


def _is_whole(tx: Tx) -> bool:
    if engines.damage_at_a_glance(tx) is not None or not tx.are_words_sound():
        return False
    try:
        if tx.words == "fts5":
            sums.refuse_any_other(tx)
    except IndexDamaged:
        return False
    return True


def _turn(tx: Tx, turn: TurnToIndexRow, altered: set[str]) -> Iterator[Finding]:
    try:
        stored = list(documents.of_turn(tx, turn))
    except damage.RAISED:  # rows that are not as they were are named elsewhere
        return
    for message in stored:
        if not _has(tx, message) and altered.isdisjoint(
            [message.id, *(part_id for part_id, _ in message.parts if part_id)]
        ):
            what = f"the search index does not have message {message.id} as it is"
            yield stale(_RULE, message.id, what, turn.session_id, mending.documents(turn.id))


def _has(tx: Tx, message: Stored) -> bool:
    """Whether the index has it, word for word. A turn that lists it, too, and is not indexed as it is may have given or
    taken the title and changed the time: its words are there all the same."""
    there = records.documents_of_message.all(tx, message=message.id)
    wanted = indexing.new_documents(message)
    if len(wanted) == len(there) and all(any(new.is_in(row) for row in there) for new in wanted):
        return True
    if records.unindexed_turn.one(tx, message=message.id) is None:
        return False
    retitled = documents.retitled(tx, message, None if message.titled else message.session_id)
    return _words(there) in (_words(wanted), _words(indexing.new_documents(retitled)))


def _words(documents: Sequence[DocumentRow | New]) -> set[tuple[str | None, int]]:
    return {(one.part_id, one.checksum) for one in documents}


def _left(tx: Tx) -> Iterator[Finding]:
    after = windows.BEFORE_ALL
    while page := records.documents_beside_messages.all(tx, after=after, limit=windows.ROWS):
        for row in page:
            if row.message is None:
                what = f"the search index has message {row.message_id}, which is gone"
                yield stale(_RULE, row.message_id, what, "", mending.forgotten(row.message_id))
        after = page[-1].number
