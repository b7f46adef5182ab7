"""Proof that a group is what some store once recorded: its digests, its reflog, and that it can be gone on with.

Nothing that comes from a file is believed: a session that is taken in reads, recovers and verifies like one that was
recorded here.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from ..base import exact_json, ids
from ..core import digests, heads, metadata
from ..core.turn import open_turn, seal
from ..db.engine import Row, Tx
from ..db.queries import Q
from ..errors import BadValue
from ..model import OPEN, SEALED, Usage, add_up
from . import tables
from .groups import batches
from .results import Rejected
from .tables import Table

_PAGE = 500


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
    elif table is tables.PROMPTS and sha256(row["body"].encode()).hexdigest() != row["digest"]:
        raise BadValue(f"the system prompt {row['digest']!r:.64} is not what it is named by")


def prove(tx: Tx, session_id: str, rows: Iterator[tuple[int, dict[str, Any]]], first: int, *, own: bool) -> None:
    """Everything that can be recomputed, recomputed. `own`: the session's head and reflog came with it."""
    for number, row in rows:
        try:
            _prove_turn(tx, row)
        except BadValue as error:
            raise Rejected(number, str(error)) from None
    if own:
        try:
            _prove_head(tx, session_id)
        except BadValue as error:
            raise Rejected(first - 1, str(error)) from None


# ---------------------------------------------------------------- turns


def _prove_turn(tx: Tx, row: dict[str, Any]) -> None:
    turn_id, sealed = row["id"], row["sealed_at"] is not None
    there = tx.one(Q.get_turn, turn=turn_id)
    if there is None or (there[1], there[9]) != (row["parent_id"], row["digest"]):
        raise BadValue(f"turn {turn_id} is in the store with another content")
    parent = _parent(tx, turn_id, row["parent_id"])
    leaves, messages, owner = [], 0, None
    for line in _lines(tx, turn_id):
        _prove_line(line, sealed)
        if line[0] == "message":
            messages, owner = messages + 1, line[1]
        elif line[0] == "part" and line[5] is not None and line[7] != owner:
            raise BadValue(f"the part {line[1]} does not belong to the message it is listed with")
        if line[3] is not None:
            leaves.append(line[3])
    if not sealed:
        _prove_open(tx, turn_id)
        return
    if digests.turn(parent[0], row["kind"], leaves) != row["digest"]:
        raise BadValue(f"the digest of turn {turn_id} does not fit its lines and its parent")
    tokens = Usage(*there[11:16]).total
    if (parent[1] + 1, add_up((parent[2], tokens)), parent[3] + messages) != (there[6], there[17], there[18]):
        raise BadValue(f"the depth, tokens or messages of turn {turn_id} do not follow from its parent's")


def _parent(tx: Tx, turn_id: str, parent_id: str | None) -> Row:
    """(digest, depth, tokens, messages) of the turn it stands on."""
    if parent_id is None:
        return None, 0, 0, 0
    row = tx.one(Q.thread_of, turn=parent_id)
    if row is None:
        where = "neither in the store nor earlier in the file"
        raise BadValue(f"turn {turn_id} stands on turn {parent_id}, which is {where}")
    if row[0] is None:
        raise BadValue(f"turn {turn_id} stands on turn {parent_id}, which is not sealed")
    return row


def _lines(tx: Tx, turn_id: str) -> Iterator[Row]:
    """A turn's lines with what they are about, a few at a time: a part may be large."""
    after = -(2**62)
    while sizes := tx.all(Q.import_sizes, turn=turn_id, after=after, limit=_PAGE):
        for upto in batches(sizes):
            yield from tx.all(Q.import_lines, turn=turn_id, after=after, upto=upto)
            after = upto


def _prove_line(line: Row, sealed: bool) -> None:
    kind, ref, salt, leaf, name, stored, told, _ = line
    if kind == "result" or (leaf is None and not sealed):
        return
    if leaf is None:
        raise BadValue(f"the {kind} {ref} is in a sealed turn without a digest")
    if salt is None:
        if stored is not None:
            raise BadValue(f"the {kind} {ref} is there, but nothing proves it: its salt is missing")
        return
    if stored is None:
        raise BadValue(f"the {kind} {ref} is listed but its row is missing")
    if kind == "message":
        stored = metadata.strip_owned(stored, usage_told=bool(told))
    if digests.leaf(salt, name, stored) != leaf:
        raise BadValue(f"the {kind} {ref} is not what was written: its digest does not fit")


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
        row = tx.one(Q.get_message, id=turn.response_id)
        listed = any(e.kind == "message" and e.ref == turn.response_id for e in turn.entries)
        if not listed or row is None or row[1] != turn.session_id:
            raise BadValue(f"open turn {turn_id} does not list the message that it writes")


# ---------------------------------------------------------------- the head


def _prove_head(tx: Tx, session_id: str) -> None:
    head = tx.one(Q.read_head, session=session_id)
    last = _prove_reflog(tx, session_id)
    if head is None:
        if last is not None:
            raise BadValue("the session has a reflog but no head")
        return
    if last is None or last[:2] != head[:2]:
        raise BadValue("the head is not where the last line of its reflog left it")
    if last[2] > head[2]:
        raise BadValue(f"the reflog's numbers go to {last[2]}, the head says {head[2]}")
    thread = tx.one(Q.thread_of, turn=head[0]) if head[0] is not None else None
    if head[0] is not None and (thread is None or thread[0] is None):
        raise BadValue(f"the head points at turn {head[0]}, which is not a sealed turn of the store or the file")


def _prove_reflog(tx: Tx, session_id: str) -> tuple[str | None, int, int] | None:
    """(turn, revision, number) of the last line; every line is chained to the one before."""
    link, revision, turn_id, after = b"", -1, None, -1
    while page := tx.all(Q.export_reflog, session=session_id, after=after, limit=_PAGE):
        for line in page:
            if heads.line_link(link, *line[:8]) != line[8] or line[4] != revision + 1:
                raise BadValue(f"line {line[1]} of the reflog is not what was written")
            link, revision, turn_id, after = line[8], line[4], line[3], line[1]
    return None if revision < 0 else (turn_id, revision, after)
