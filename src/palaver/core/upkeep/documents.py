"""The search index beside what it is made of: each turn that counts as indexed has its documents, word for word, and no
document is left of what is gone. What is wrong is indexed again by `fix`."""

from __future__ import annotations

from collections.abc import Iterator

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
    """Whether the index has it, word for word. A turn that is indexed next brings whatever differs; one that is open
    may give or take the title only."""
    there = records.documents_of_message.all(tx, message=message.id)
    if _are_in(message, there):
        return True
    coming = records.unindexed_turns.all(tx, message=message.id)
    if any(turn.is_due for turn in coming):
        return True
    other = documents.retitled(tx, message, None if message.titled else message.session_id)
    return bool(coming) and _are_in(other, there)


def _are_in(message: Stored, there: list[DocumentRow]) -> bool:
    wanted = indexing.new_documents(message)
    return len(wanted) == len(there) and all(any(new.is_in(row) for row in there) for new in wanted)


def _left(tx: Tx) -> Iterator[Finding]:
    after = windows.BEFORE_ALL
    while page := records.documents_beside_messages.all(tx, after=after, limit=windows.ROWS):
        for row in page:
            if row.message is None:
                what = f"the search index has message {row.message_id}, which is gone"
                yield stale(_RULE, row.message_id, what, "", mending.forgotten(row.message_id))
        after = page[-1].number
