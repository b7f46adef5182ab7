"""Proof that the record is what was written: every digest and every derived copy, recomputed and compared.

Truth that does not fit its digest is reported and never touched. A copy (hidden_at, rollups, depth, preview, rows of
a waiting turn …) that does not fit its recompute is reported, and rewritten by `fix` (see mending.py).

Everything is read in windows of some hundred rows, from one snapshot: the time goes with the size of the store, and the
memory with the number of its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...aisdk.parts import tool_columns
from ...db.engine import Database, Tx
from ...db.queries import Q
from ...model import Problem
from .. import damage
from ..damage import parsed
from . import columns, documents, mending, natives, proofs, records, rules, standing, windows
from .findings import Finding, wrong, wrong_types
from .lineage import Lineage

_ROUNDS = 10

Progress = Callable[[int, int], None]  # turns and sessions looked at so far


def check(tx: Tx, progress: Progress | None = None) -> list[Problem]:
    """What does not fit."""
    _, found = _findings(tx, progress or _nobody)
    return [finding.problem for finding in found]


def fix(db: Database, progress: Progress | None = None) -> list[Problem]:
    """Rewrite the copies that are wrong; what is left is truth that was altered. A copy may rest on another one, so it
    goes on while that changes anything."""
    before: list[Problem] | None = None
    for rounds_left in reversed(range(_ROUNDS)):  # beside writers, one more may always be found
        with db.read() as tx:
            lineage, found = _findings(tx, progress or _nobody)
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


def _edges(tx: Tx, found: list[Finding]) -> Iterator[records.TurnEdgeRow]:
    for page in windows.pages(tx, records.turn_edges, windows.TURNS):
        for edge in page:
            found += wrong_types(edge.id, edge)
            yield damage.sound(edge)


def _findings(tx: Tx, progress: Progress) -> tuple[Lineage, list[Finding]]:
    found: list[Finding] = []
    lineage = Lineage(_edges(tx, found))
    found += _compared(tx, lineage, progress)
    return lineage, found


def _compared(tx: Tx, lineage: Lineage, progress: Progress) -> Iterator[Finding]:
    for finding in proofs.prove(tx, lineage, lambda count: progress(count, 0)):
        lineage.altered.add(finding.problem.where)
        yield finding
    yield from standing.compare(tx, lineage, lambda count: progress(len(lineage), count))
    yield from columns.compare(tx, lineage)
    yield from natives.prove(tx)
    yield from documents.compare(tx, lineage.altered)
    yield from _rows(tx, lineage)


# ---------------------------------------------------------------- rows


def _rows(tx: Tx, lineage: Lineage) -> Iterator[Finding]:
    for homes in windows.pages(tx, records.message_homes, windows.ROWS, line=windows.LINE, field=windows.FIELD):
        yield from _homes(tx, homes, lineage)
    for parts in windows.pages(tx, records.part_columns, windows.ROWS, inline=windows.INLINE):
        for part in parts:
            yield from _columns(tx, part)
    for prompts in windows.pages(tx, records.prompts, windows.TURNS, key="digest", inline=windows.INLINE):
        for prompt in prompts:
            yield from _prompt(tx, prompt)
    for heads in windows.pages(tx, records.heads_beside_sessions, windows.ROWS, key="session_id"):
        for head in heads:
            if head.row_id is None:
                yield wrong("missing", head.session_id, f"the row of session {head.session_id} is gone")


def _homes(tx: Tx, page: list[records.MessageHomeRow], lineage: Lineage) -> Iterator[Finding]:
    """Messages of ours: a turn of their own session lists them, and their parts are numbered."""
    ours = set()
    for message in page:
        if not isinstance(message.id, str):
            shown = damage.as_text(message.id)
            yield wrong("id", shown, f"the id of message {shown} is no text")
            continue
        lines = windows.listing(tx, message.id, message.entries)
        if lines:
            ours.add(message.id)
        if lines and not any(lineage.home(turn_id) == message.session_id for turn_id, _ in lines):
            what = f"message {message.id} was not written in session {message.session_id}"
            yield wrong("home", message.id, what)
    if not ours:
        return
    for row in records.part_numbers.all(tx, first=min(ours), last=max(ours)):
        if row.message_id in ours and (row.lowest, row.highest, row.different) != (0, row.parts - 1, row.parts):
            yield wrong("index", row.message_id, f"the parts of message {row.message_id} are not numbered 0 to n-1")


def _columns(tx: Tx, row: records.PartColumnsRow) -> Iterator[Finding]:
    if row.home is not None and row.session_id != row.home:
        yield wrong("home", row.id, f"part {row.id} says session {row.session_id}, its message says {row.home}")
    if row.size is None:  # no tool's
        return
    data = row.data_json
    if data is None:
        (data,) = tx.one(Q.data_of_part, id=row.id) or ("",)
    part, columns = parsed(data), (row.tool_call_id, row.tool_state)
    if not isinstance(part, dict) or part.get("type") != row.type or tool_columns(part) != columns:
        yield wrong("columns", row.id, f"the columns of part {row.id} do not say what its data_json says")


def _prompt(tx: Tx, row: records.PromptRow) -> Iterator[Finding]:
    body = row.body
    if body is None:
        (body,) = tx.one(Q.get_prompt, digest=row.digest) or ("",)
    if not rules.prompt_fits(row.digest, body):
        yield wrong("prompt", row.digest, f"the system prompt {row.digest} is not what it is named by")
