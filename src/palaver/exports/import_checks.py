"""Proof that a group is what some store once recorded: its digests, its reflog, and that it can be gone on with.

Nothing that comes from a file is believed: a session that is taken in reads, recovers and verifies like one that was
recorded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..base import exact_json, ids
from ..core import rows, session_facts
from ..core.turn import open_turn, seal
from ..core.upkeep import records
from ..core.upkeep.rules import Flaw, ReflogProof, Sums, TurnProof, native_fits, prompt_fits, total_tokens
from ..db.engine import Tx
from ..db.queries import Q
from ..errors import BadValue
from ..model import OPEN, SEALED
from . import tables
from .groups import batches
from .results import Rejected
from .tables import Table

_PAGE = 500
_TOLD = {
    Flaw.NO_LEAF: "is in a sealed turn without a digest",
    Flaw.NO_SALT: "is there, but nothing proves it: its salt is missing",
    Flaw.NO_ROW: "is listed but its row is missing",
    Flaw.MOVED: "does not belong to the message it is listed with",
}  # to who brings a file
_BODIES = {tables.PROMPTS: "system prompt", tables.BODIES: "body"}


def check_row(table: Table, row: dict[str, Any]) -> None:
    """What one row must fulfil beyond the types of its columns."""
    if table is tables.TURNS:
        if not ids.is_ours(ids.TURN, row["id"]):
            raise BadValue(f"{row['id']!r:.60} is not the id of a turn")
        if row["status"] not in (OPEN if row["sealed_at"] is None else SEALED):
            raise BadValue(f"a turn that is {row['status']!r:.20} cannot have that sealed_at")
        if (row["digest"] is None) != (row["sealed_at"] is None):
            raise BadValue("a sealed turn has a digest, an open one has none")
    elif table is tables.ENTRIES:
        if row["kind"] not in ("message", "part", "result"):
            raise BadValue(f"a line of a turn is a message, a part or a result, not {row['kind']!r:.20}")
    elif table is tables.EVENTS and row["kind"] == "stray":
        value = exact_json.parse(row["data"])
        if not isinstance(value, dict) or not isinstance(value.get("turn"), str):
            raise BadValue("a stray's event names its turn")
    elif table is tables.FACTS:
        _check_fact(row)
    elif table is tables.USAGE:
        _check_usage(row)
    elif table is tables.NATIVES:
        _check_native(row)
    elif table in _BODIES and not prompt_fits(row["digest"], row["body"]):
        raise BadValue(f"the {_BODIES[table]} {row['digest']!r:.64} is not what it is named by")


def _check_fact(row: dict[str, Any]) -> None:
    session_facts.given("import", {}, {row["name"]: row["value"]})


def _check_usage(row: dict[str, Any]) -> None:
    if row["n"] < 1:
        raise BadValue("rows of usage are numbered from 1 on")
    for column in ("cost_reported", "cost_computed"):
        if row[column] is not None and row[column] < 0:
            raise BadValue(f"{column} of a row of usage is negative")


def _check_native(row: dict[str, Any]) -> None:
    for column in ("origin", "item"):
        if not exact_json.check_name(column, row[column]):
            raise BadValue(f"{column} of an item is empty")
    exact_json.check_column("file", row["file"])
    if row["body"] is not None and not native_fits(row["digest"], row["body"]):
        raise BadValue(
            f"item {row['item']!r:.60} of turn {row['turn_id']!r:.60} is not what was given: its digest does not fit"
        )


def prove(tx: Tx, session_id: str, turns: Iterator[tuple[int, dict[str, Any]]], first: int, *, own: bool) -> None:
    """Everything that can be recomputed, recomputed. `own`: the session's head and reflog came with it."""
    for number, row in turns:
        try:
            _prove_turn(tx, row)
        except BadValue as error:
            raise Rejected(number, str(error)) from None
    if own:
        try:
            _prove_head(tx, session_id)
        except BadValue as error:
            raise Rejected(first - 1, str(error)) from None


def prove_facts(tx: Tx, session_id: str, given: Iterable[tuple[int, dict[str, Any]]]) -> None:
    """A session has one fact of a name."""
    for (twice,) in tx.all(Q.import_fact_twice, session=session_id):
        for number, row in given:
            if row["name"] == twice:
                raise Rejected(number, f"the session has two facts of the name {twice!r:.60}")


def prove_usage(tx: Tx, session_id: str, given: Iterable[tuple[int, dict[str, Any]]]) -> None:
    """Each response is counted once, and what a turn used can be added up."""
    for (twice,) in tx.all(Q.import_key_twice, session=session_id):
        for number, row in given:
            if row["n"] == twice:
                raise Rejected(number, f"the key {row['key']!r:.60} is on two rows of usage")
    for (turn_id,) in tx.all(Q.import_too_much, session=session_id):
        for number, row in given:
            if row["turn_id"] == turn_id:
                raise Rejected(number, f"turn {turn_id} would have used more than can be counted")


# ---------------------------------------------------------------- turns


def _prove_turn(tx: Tx, given: dict[str, Any]) -> None:
    turn = rows.turn.one(tx, turn=given["id"])
    if turn is None or (turn.parent_id, turn.digest) != (given["parent_id"], given["digest"]):
        raise BadValue(f"turn {given['id']} is in the store with another content")
    parent, is_sealed = _parent(tx, turn), given["sealed_at"] is not None
    proof = TurnProof(turn.id, is_sealed=is_sealed)
    for entry in _entries(tx, turn.id):
        _prove_entry(proof, entry)
    if not is_sealed:
        _prove_open(tx, turn.id)
        return
    _refuse(proof.digest_flaw(given["kind"], turn.digest, parent.digest))
    right = Sums(parent.depth, parent.thread_tokens, parent.thread_messages).and_then(
        total_tokens(turn), proof.messages
    )
    if right != (turn.depth, turn.thread_tokens, turn.thread_messages):
        raise BadValue(f"the depth, tokens or messages of turn {turn.id} do not follow from its parent's")
    _prove_counts(tx, turn)


def _prove_counts(tx: Tx, turn: rows.TurnRow) -> None:
    """Where there are rows of a turn's usage, they add up to its counts."""
    counts = (turn.input_tokens, turn.output_tokens, turn.reasoning_tokens, turn.cache_read, turn.cache_write)
    found = tx.one(Q.usage_sum_of_turn, turn=turn.id)
    if found is not None and None not in found and found != counts:
        raise BadValue(f"the tokens of turn {turn.id} are not those of its rows of usage")


def _parent(tx: Tx, turn: rows.TurnRow) -> records.ThreadRow:
    """The turn it stands on, as far as it passes it on."""
    if turn.parent_id is None:
        return records.ThreadRow(None, 0, 0, 0)
    parent = records.thread.one(tx, turn=turn.parent_id)
    if parent is None:
        where = "neither in the store nor earlier in the file"
        raise BadValue(f"turn {turn.id} stands on turn {turn.parent_id}, which is {where}")
    if parent.digest is None:
        raise BadValue(f"turn {turn.id} stands on turn {turn.parent_id}, which is not sealed")
    return parent


def _entries(tx: Tx, turn_id: str) -> Iterator[records.ImportedEntryRow]:
    """A turn's entries with what they are about, a few at a time: a part may be large."""
    after = -(2**62)
    while sizes := tx.all(Q.import_sizes, turn=turn_id, after=after, limit=_PAGE):
        for upto in batches(sizes):
            yield from records.imported_entries.all(tx, turn=turn_id, after=after, upto=upto)
            after = upto


def _prove_entry(proof: TurnProof, entry: records.ImportedEntryRow) -> None:
    for flaw, sentence in proof.take(entry, entry.stored, usage_told=bool(entry.usage_told)):
        if flaw is Flaw.NO_SALT and entry.stored is None:
            continue  # it was erased with its row
        told = _TOLD.get(flaw)
        raise BadValue(f"the {entry.kind} {entry.ref} {told}" if told else sentence)


def _refuse(flaw: str | None) -> None:
    if flaw:
        raise BadValue(flaw)


def _prove_open(tx: Tx, turn_id: str) -> None:
    """An open turn will be recovered or resumed from its events: that must not fail then."""
    try:
        turn = open_turn.load(tx, turn_id)
        seal.close_parts(turn, "aborted")
        for index in range(len(turn.fold.parts)):
            exact_json.refuse_depth(exact_json.dump(turn.fold.part(index)))
    except Exception as error:  # whatever hostile chunks make of the fold, it must not reach the next open
        raise BadValue(f"the chunks of open turn {turn_id} do not fold: {error}") from None
    if [entry.seq for entry in turn.entries] != list(range(len(turn.entries))):
        raise BadValue(f"the lines of open turn {turn_id} are not numbered 0 to n-1")
    if turn.response_id is not None:
        row = rows.message.one(tx, id=turn.response_id)
        listed = any(e.kind == "message" and e.ref == turn.response_id for e in turn.entries)
        if not listed or row is None or row.session_id != turn.session_id:
            raise BadValue(f"open turn {turn_id} does not list the message that it writes")


# ---------------------------------------------------------------- the head


def _prove_head(tx: Tx, session_id: str) -> None:
    head = rows.head.one(tx, session=session_id)
    reflog = _prove_reflog(tx, session_id)
    if head is None:
        _refuse("the session has a reflog but no head" if reflog.last else None)
        return
    _refuse(reflog.head_flaw(head.turn_id, head.revision))
    last = reflog.number_after(head.event_seq)
    if last is not None:
        raise BadValue(f"the reflog's numbers go to {last}, the head says {head.event_seq}")
    thread = records.thread.one(tx, turn=head.turn_id) if head.turn_id is not None else None
    if head.turn_id is not None and (thread is None or thread.digest is None):
        raise BadValue(f"the head points at turn {head.turn_id}, which is not a sealed turn of the store or the file")


def _prove_reflog(tx: Tx, session_id: str) -> ReflogProof:
    proof, after = ReflogProof(session_id), -1
    while page := records.reflog_page.all(tx, session=session_id, after=after, limit=_PAGE):
        for line in page:
            _refuse(proof.take(line))
            after = line.seq
    return proof
