"""A session of a `state.db` that is here and went on here, or was made here and went out: what of the file is new.

Its rows are compared by place with those that an export would have. What they have in common is not new; what follows
comes in below it, and is the session's own path if nothing else was said here meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import NamedTuple

from ...errors import HeadConflict, SessionNotFound
from ...grafts.values import GraftSession
from ...model import Usage
from ...session import Session
from ...store import Store
from . import rows, totals
from .file_session import FileSession
from .file_turns import FileRow, turns
from .message_rows import of_store
from .session_columns import ORIGIN, OURS
from .stored_rows import StoredRow, rows_of, said
from .totals import SOURCE, Spent

GROWN = "grown"  # in the metadata of a session whose rows are not all of a file


class Growth(NamedTuple):
    """What is new of a session, and what is known of it. `last` is the row of the file where its head stands, None if
    ours is not to follow."""

    graft: GraftSession
    known: int
    last: str | None
    turns: set[str]
    revision: int
    store: Store

    def follow(self, session: Session) -> bool:
        """Ours goes where the file's head stands, if nobody else moved it; whether it did."""
        new = [turn for turn in session.tree() if turn.id not in self.turns] if self.last else []
        ends = (turn.id for turn in new if self.store.natives(turn.id)[-1].item == self.last)
        target = next(ends, None)
        if target is None:
            return False
        ours = session.metadata.get(OURS)
        session.update_metadata({OURS: {**(ours if isinstance(ours, dict) else {}), GROWN: True}})
        try:
            session.move(target, self.revision, reason="Hermes went on with it")
        except HeadConflict:
            return False
        return True


def looked_at(store: Store, about: FileSession, read: Callable[[], Iterator[FileRow]]) -> Growth | None:
    """None: it is not here, or all of it came from a file, so that a graft knows by itself what is new."""
    session = _session(store, about.id)
    if session is None or _is_all_from_a_file(store, session):
        return None
    found = list(read())
    answered = _answer(session, found)
    info, here = session.info, rows_of(of_store(store), session)
    common = _common(found, here)
    begin = common
    if 0 < common < len(here) and here[common - 1].turn_id == here[common].turn_id:  # in the middle of a turn of ours
        begin = len(list(takewhile(lambda one: one.turn_id != here[common].turn_id, here)))
    new = found[begin:] if common < len(found) else []
    parent = next((here[row.place - 1].turn_id for row in reversed(found[:begin]) if row.is_on_path), None)
    graft = about.graft(turns(new, about.prompt, parent), into=session.id)
    last = next((row.item for row in reversed(new) if row.is_on_path), None) if common == len(here) else None
    known = len(found) - len(new) - answered
    return Growth(graft, known, last, {turn.id for turn in session.tree()}, info.revision, store)


def _session(store: Store, name: str) -> Session | None:
    ours = store.find_foreign_id(ORIGIN, name, scope="session")
    try:
        return store.sessions.get(ours or name, deleted=True)
    except SessionNotFound:
        return None


def _is_all_from_a_file(store: Store, session: Session) -> bool:
    info = session.info
    if info.deleted_at is not None or info.archived_at is not None:
        return store.find_foreign_id(ORIGIN, info.app_id or "", scope="session") is not None
    ours = info.metadata.get(OURS)
    if isinstance(ours, dict) and ours.get(GROWN):
        return False
    path = session.path(limit=1, after="") if info.turn_id else []
    ends = [turn.id for turn in path] + ([info.turn_id] if info.turn_id else [])
    if session.waiting() or session.live():
        return False
    return all(any(each.origin == ORIGIN for each in store.natives(turn_id)) for turn_id in ends)


def _common(found: list[FileRow], here: list[StoredRow]) -> int:
    pairs = zip(found, here, strict=False)
    return len(list(takewhile(lambda pair: said(pair[0].row) == pair[1].said, pairs)))


def _answer(session: Session, found: list[FileRow]) -> int:
    """Results for calls that wait here are answers to them; how many."""
    waiting = {turn.id for turn in session.waiting()}
    if not waiting:
        return 0
    open_calls = {
        part["toolCallId"]: part
        for message in session.transcript()
        if message.turn_id in waiting
        for part in message.ui()["parts"]
        if part.get("state") == "input-available"
    }
    answers = [row for row in found if row.row["role"] == "tool" and row.row.get("tool_call_id") in open_calls]
    for row in answers:
        call = open_calls.pop(row.row["tool_call_id"], None)
        if call is not None:
            output, beside = rows.result_of(row.row, call)
            session.resolve(call["toolCallId"], output=output, provider_metadata=beside, finish=True)
    return len(answers)


def put_totals(session: Session, told: list[Spent]) -> None:
    """What Hermes counted on, where it is more than was counted here."""
    known, _, _ = totals.totals(session, session.info.usage)
    counted = sum((one.usage for one in told if one.source == SOURCE), Usage())
    if any(more > less for more, less in zip(counted.counts(), known.counts(), strict=True)):
        totals.put(session, told)
