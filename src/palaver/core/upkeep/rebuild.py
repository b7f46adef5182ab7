"""Rebuilding: the contract rows of a session made again from its journal, and compared with those in the tables.

The journal is carried out, line by line, in a store in memory. Rows that are missing or say something else are put
right; rows that the journal does not know, of another program, are left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ...aisdk.folding import MISSING, Fold
from ...base import exact_json
from ...db.engine import Database, Tx
from ...db.queries import Q, Query
from ...errors import BadValue, ChunkError, SessionNotFound, StoreError
from ...model import Problem
from .. import metadata, rows
from ..read.replay import new_fold
from ..read.replay import replay as play
from ..read.sessions import resolve
from . import records

ContractRow = dict[str, Any]  # by column
_BEGINNINGS = ("insert_session", "import_session")
_TABLES: dict[str, tuple[Query, Query]] = {
    "chat_sessions": (Q.export_session, Q.restore_session),
    "chat_messages": (Q.rows_of_session_messages, Q.restore_message),
    "chat_parts": (Q.rows_of_session_parts, Q.restore_part),
}


def sessions(tx: Tx) -> list[str]:
    """Those that have a journal, or should have one."""
    return [session_id for (session_id,) in tx.all(Q.journaled_sessions)]


def named(tx: Tx, wanted: str) -> str:
    """The session with this id, ours or the application's, also if its row is what is lost."""
    if tx.one(Q.newest_journal, session=wanted) is not None:
        return wanted
    ours = resolve(tx, wanted)
    if ours is None:
        raise SessionNotFound(wanted)
    return ours


def replay(tx: Tx, session_id: str, scratch: Database, known: Collection[str]) -> Problem | None:
    """Carry out a session's journal in an empty store; a problem if it is not whole."""
    lines = records.journal.all(tx, session=session_id)
    is_whole = [line.seq for line in lines] == list(range(1, len(lines) + 1))
    if not lines or lines[0].statement not in _BEGINNINGS or not is_whole:
        return Problem("journal", session_id, "was not recorded from its beginning; nothing was rebuilt")
    strange = [line.statement for line in lines if line.statement not in known]
    if strange:
        return Problem(
            "journal", session_id, f"holds a line of another version ({strange[0]!r:.40}); nothing was rebuilt"
        )
    try:
        _carry_out(lines, _Folds(tx, session_id), scratch)
    except (ChunkError, BadValue, LookupError, StoreError, AttributeError, TypeError) as error:
        return Problem("journal", session_id, f"cannot be carried out; nothing was rebuilt ({error!r:.80})")
    return None


def _carry_out(lines: list[records.JournalRow], folds: _Folds, scratch: Database) -> None:
    with scratch.write() as into:
        for line in lines:
            params = exact_json.parse(line.data)
            if isinstance(params.get("data"), dict):
                params["data"] = folds.part(**params["data"])
            if isinstance(params.get("metadata"), dict):
                params["metadata"] = folds.metadata(**params["metadata"])
            into.run(getattr(Q, line.statement), **params)


class _Folds:
    """What a turn's chunks had made of its answer at an event. Lines come in order, so each turn is folded once."""

    def __init__(self, tx: Tx, session_id: str) -> None:
        self._tx = tx
        self._session_id = session_id
        self._open: dict[int, tuple[Fold, list[records.EventOfTurnRow], int]] = {}

    def part(self, turn: str, fold: int, part: int, upto: int) -> str:
        return exact_json.dump(self._at(turn, fold, upto).part(part))

    def metadata(self, turn: str, fold: int, upto: int, usage: str | None, hidden_at: int | None) -> str:
        value = self._at(turn, fold, upto).metadata
        given = "{}" if value is MISSING else exact_json.dump(value)
        return metadata.add_owned(given, usage=usage, hidden_at=hidden_at)

    def _at(self, turn: str, begin_seq: int, upto: int) -> Fold:
        if begin_seq not in self._open:
            events = records.events_of_turn.all(self._tx, session=self._session_id, begin_seq=begin_seq)
            row = rows.turn.one(self._tx, turn=turn)
            self._open[begin_seq] = (new_fold(exact_json.parse(row.facts_json) if row else {}), events, 0)
        state, events, at = self._open[begin_seq]
        end = at
        while end < len(events) and events[end].seq <= upto:
            end += 1
        play(state, [*events[at:end]])
        self._open[begin_seq] = (state, events, end)
        return state


def compare(tx: Tx, session_id: str, scratch: Tx, *, fix: bool) -> Iterator[Problem]:
    """What the tables say otherwise than the journal; with `fix`, they say it no more."""
    for table, (_, restore) in _TABLES.items():
        stored = {row["id"]: row for row in _contract_rows(tx, table, session_id)}
        for row in _contract_rows(scratch, table, session_id):
            there = stored.get(row["id"])
            if there != row and not (table == "chat_parts" and _is_superseded(tx, row)):
                yield Problem("rebuild", f"{table} {row['id']}", _difference(there, row), copy=True)
                if fix:
                    tx.defer(restore, **row)


def _contract_rows(tx: Tx, table: str, session_id: str) -> Iterator[ContractRow]:
    query, restore = _TABLES[table]
    return (dict(zip(restore.names, row, strict=True)) for row in tx.all(query, session=session_id))


def _is_superseded(tx: Tx, part: ContractRow) -> bool:
    """A part that no line of its sealed turn names: recovery, which did not find its row, wrote it anew."""
    listed = rows.turns_of_message.all(tx, message=part["message_id"])
    sealed = next((turn for turn in listed if turn.sealed_at is not None), None)
    return sealed is not None and tx.one(Q.part_is_listed, part=part["id"], turn=sealed.turn_id) is None


def _difference(stored: ContractRow | None, row: ContractRow) -> str:
    if stored is None:
        return "the row is missing"
    names = [name for name in row if stored[name] != row[name]]
    return f"{', '.join(names)} is not what was written"
