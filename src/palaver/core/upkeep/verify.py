"""Proof that the record is what was written: every digest and every derived copy, recomputed and compared.

Truth that does not fit its digest is reported and never touched. A copy (hidden_at, rollups, depth, preview, rows of
a waiting turn …) that does not fit its recompute is reported, and rewritten by `fix` (see mending.py).

Everything is read in windows of some hundred rows, from one snapshot: the time goes with the size of the store, and the
memory with the number of its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256

from ...aisdk.parts import tool_columns
from ...db.engine import Database, Row, Tx
from ...db.queries import Q
from ...model import Problem
from .. import damage, digests
from ..damage import parsed
from . import mending, proofs, standing, windows
from .findings import Finding, wrong
from .lineage import Edge, Lineage

_ROUNDS = 10

Progress = Callable[[int, int], None]  # turns and sessions looked at so far


def check(tx: Tx, progress: Progress | None = None) -> list[Problem]:
    """What does not fit."""
    return [finding.problem for finding in _findings(tx, Lineage(_edges(tx)), progress or _nobody)]


def fix(db: Database, progress: Progress | None = None) -> list[Problem]:
    """Rewrite the copies that are wrong; what is left is truth that was altered. A copy may rest on another one, so it
    goes on while that changes anything."""
    before: list[Problem] | None = None
    for rounds_left in reversed(range(_ROUNDS)):  # beside writers, one more may always be found
        with db.read() as tx:
            lineage = Lineage(_edges(tx))
            found = list(_findings(tx, lineage, progress or _nobody))
        problems, work = [finding.problem for finding in found], [finding.work for finding in found if finding.work]
        if not work and before is None:
            _refuse_if_it_may_not(db)
        if not work or problems == before or not rounds_left:
            break
        mending.mend(db, lineage, work)
        before = problems
    return problems


def _refuse_if_it_may_not(db: Database) -> None:
    """Who may not write is told, also where there is nothing to rewrite."""
    with db.write() as tx:
        tx.one(Q.any_pruned)


def _nobody(turns: int, sessions: int) -> None:
    """Wants to know."""


def _edges(tx: Tx) -> Iterator[Edge]:
    for page in windows.pages(tx, Q.turn_edges, windows.TURNS):
        yield from (Edge(*row) for row in page)


def _findings(tx: Tx, lineage: Lineage, progress: Progress) -> Iterator[Finding]:
    yield from proofs.prove(tx, lineage, lambda count: progress(count, 0))
    yield from standing.compare(tx, lineage, lambda count: progress(len(lineage), count))
    yield from _rows(tx, lineage)


# ---------------------------------------------------------------- rows


def _rows(tx: Tx, lineage: Lineage) -> Iterator[Finding]:
    for page in windows.pages(tx, Q.homes_of_messages, windows.ROWS, line=windows.LINE, field=windows.FIELD):
        yield from _homes(tx, page, lineage)
    for page in windows.pages(tx, Q.columns_of_parts, windows.ROWS, inline=windows.INLINE):
        for row in page:
            yield from _columns(tx, *row)
    for page in windows.pages(tx, Q.all_prompts, windows.TURNS, inline=windows.INLINE):
        for digest, _, body in page:
            if body is None:
                (body,) = tx.one(Q.get_prompt, digest=digest) or ("",)
            if sha256(digests.bytes_of(body)).hexdigest() != digest:
                yield wrong("prompt", digest, f"the system prompt {digest} is not what it is named by")
    for page in windows.pages(tx, Q.heads_beside_sessions, windows.ROWS):
        for session_id, found in page:
            if found is None:
                yield wrong("missing", session_id, f"the row of session {session_id} is gone")


def _homes(tx: Tx, page: list[Row], lineage: Lineage) -> Iterator[Finding]:
    """Messages of ours: a turn of their own session lists them, and their parts are numbered."""
    ours = set()
    for message_id, session_id, text in page:
        if not isinstance(message_id, str):
            yield wrong("id", damage.as_text(message_id), f"the id of message {damage.as_text(message_id)} is no text")
            continue
        lines = windows.listing(tx, message_id, text)
        if lines:
            ours.add(message_id)
        if lines and not any(lineage.home(turn_id) == session_id for turn_id, _ in lines):
            yield wrong("home", message_id, f"message {message_id} was not written in session {session_id}")
    if not ours:
        return
    for message_id, count, first, last, distinct in tx.all(Q.places_of_parts, first=min(ours), last=max(ours)):
        if message_id in ours and (first, last, distinct) != (0, count - 1, count):
            yield wrong("index", message_id, f"the parts of message {message_id} are not numbered 0 to n-1")


def _columns(
    tx: Tx,
    part_id: str,
    own: str,
    right: str | None,
    kind: str,
    call: str | None,
    state: str | None,
    size: int | None,
    data: str | None,
) -> Iterator[Finding]:
    if right is not None and own != right:
        yield wrong("home", part_id, f"part {part_id} says session {own}, its message says {right}")
    if size is None:  # no tool's
        return
    if data is None:
        (data,) = tx.one(Q.data_of_part, id=part_id) or ("",)
    part = parsed(data)
    if not isinstance(part, dict) or part.get("type") != kind or tool_columns(part) != (call, state):
        yield wrong("columns", part_id, f"the columns of part {part_id} do not say what its data_json says")
