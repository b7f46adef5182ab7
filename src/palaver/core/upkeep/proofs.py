"""Proof of turns: the leaf of every line, the digest over them and the parent's, and the sums along the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...db.engine import Tx
from ...db.queries import Q
from ...model import SEALED
from .. import damage
from ..settle import recovery
from ..turn import open_turn
from . import mending, records, windows
from .findings import Finding, check_json, stale, wrong, wrong_types
from .lineage import Lineage
from .rules import Flaw, TurnProof, status_flaw

_OF_PARENTS = ("parent_sealed_at", "parent_digest")  # a parent is a turn itself


def prove(tx: Tx, lineage: Lineage, progress: Callable[[int], None]) -> Iterator[Finding]:
    for turn_id in lineage.circles:
        yield wrong("parent", turn_id, f"turn {turn_id} comes from itself: its parents go round in a circle")
    count = 0
    for page in windows.pages(tx, records.turns_beside_parents, windows.TURNS):
        for row in page:
            yield from wrong_types(row.id, row, (*records.TurnEdgeRow._fields, *_OF_PARENTS))
        proofs = {row.id: _Proof(row, lineage) for row in map(damage.sound, page)}
        yield from _conclude(tx, proofs)
        count += len(proofs)
        progress(count)


def _conclude(tx: Tx, proofs: dict[str, _Proof]) -> Iterator[Finding]:
    if not proofs:
        return
    first, last = min(proofs), max(proofs)
    for line in map(damage.sound, _lines(tx, first, last)):
        if line.turn_id in proofs:
            yield from proofs[line.turn_id].take(tx, line)
    for turn_id, message_id, part_id in tx.all(Q.parts_of_listed, first=first, last=last):
        if turn_id in proofs:
            yield from proofs[turn_id].compare(message_id, part_id)
    for proof in proofs.values():
        yield from proof.conclude(tx)


def _lines(tx: Tx, first: str, last: str) -> Iterator[records.StoredEntryRow]:
    turn_id, seq = first, windows.BEFORE_ALL
    while True:
        found = records.stored_entries.all(
            tx, turn=turn_id, seq=seq, last=last, limit=windows.ROWS, inline=windows.INLINE
        )
        yield from found
        if len(found) < windows.ROWS:
            return
        turn_id, seq = found[-1].turn_id, found[-1].seq


def _stored(tx: Tx, line: records.StoredEntryRow) -> str | None:
    """The text that a leaf is of; None if its row is gone."""
    if line.size is None or line.stored is not None:
        return line.stored
    text: str | None
    (text,) = tx.one(Q.metadata_of_message if line.kind == "message" else Q.data_of_part, id=line.ref) or (None,)
    return text


class _Proof:
    """One turn, while its lines come by."""

    def __init__(self, row: records.TurnBesideParentRow, lineage: Lineage) -> None:
        self._row, self._lineage = row, lineage
        self._is_aside = row.sealed_at is not None and row.digest is None  # it could not be sealed
        self._is_sealed = row.sealed_at is not None and not self._is_aside
        self._proof = TurnProof(row.id, is_sealed=self._is_sealed)
        self._messages: set[str] = set()  # that have a row
        self._parts: set[str] = set()

    def take(self, tx: Tx, line: records.StoredEntryRow) -> Iterator[Finding]:
        if line.kind == "message" and line.size is not None:
            self._messages.add(line.ref)
        if line.kind == "part":
            self._parts.add(line.ref)
        stored = _stored(tx, line) if self._proof.covers(line) else None
        for flaw, what in self._proof.take(line, stored, usage_told=line.ref in self._lineage.told):
            yield wrong("missing" if flaw is Flaw.NO_ROW else "altered", line.ref, what)
        is_proved = line.leaf is not None and line.salt is not None
        if line.kind == "part" and is_proved and stored is not None and not damage.is_part(stored):
            yield wrong("json", line.ref, f"part {line.ref} cannot be read: it is not a JSON object with a type")

    def compare(self, message_id: str, part_id: str) -> Iterator[Finding]:
        """Parts that another program added to a message after it was sealed: its readers see them, ours do not."""
        if self._is_sealed and message_id in self._messages and part_id not in self._parts:
            yield wrong("unlisted", part_id, f"part {part_id} was added to message {message_id} after its seal")

    def conclude(self, tx: Tx) -> Iterator[Finding]:
        yield from check_json(f"{self._row.id}.facts_json", self._row.facts_json)
        if self._is_sealed:
            yield from self._status()
            yield from self._chain()
            yield from self._thread()
        elif self._is_aside:
            yield wrong("aside", self._row.id, recovery.why_aside(tx, self._row.session_id, self._row.id))
        else:
            yield from _open_turn(tx, self._row)

    def _status(self) -> Iterator[Finding]:
        row = self._row
        if row.status not in SEALED:
            yield wrong("status", row.id, f"turn {row.id} is sealed, and its status is {row.status!r:.40}")
        elif flaw := status_flaw(row.id, row.status, damage.parsed(row.facts_json)):
            yield wrong("status", row.id, flaw)

    def _chain(self) -> Iterator[Finding]:
        row = self._row
        if row.parent_id and row.parent_sealed_at is None:
            yield wrong("parent", row.id, f"turn {row.id} has a parent {row.parent_id} that is not a sealed turn")
            return
        flaw = self._proof.digest_flaw(row.kind, row.digest, row.parent_digest)
        if flaw:
            yield wrong("digest", row.id, flaw)

    def _thread(self) -> Iterator[Finding]:
        row, right = self._row, self._lineage.sums(self._row.id)
        stored = (row.depth, row.thread_tokens, row.thread_messages)
        if right is not None and right != stored:
            what = f"depth, tokens, messages are {right}, not {stored}"
            yield stale("thread", row.id, what, row.session_id, mending.thread(row.id), rank=right.depth)


def _open_turn(tx: Tx, row: records.TurnBesideParentRow) -> Iterator[Finding]:
    """Rows of a waiting turn are flushed, so they must equal the fold; a streaming turn's may lag."""
    if row.status == "pending":
        return
    try:
        turn = open_turn.load(tx, row.id)
    except damage.RAISED as error:
        yield wrong("events", row.id, f"the chunks of open turn {row.id} do not fold: {error}")
        return
    if row.status == "waiting" and row.response_id is not None and not mending.part_rows_fit(tx, turn):
        what = f"the part rows of waiting turn {row.id} are not its fold"
        yield stale("part-rows", row.response_id, what, row.session_id, mending.part_rows(row.id))
