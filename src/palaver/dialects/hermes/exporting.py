"""A store goes out as Hermes' `state.db`: schema 6, whole or not at all.

Behind the columns of schema 6 come those of later versions that hold something: a later Hermes reads them, and obeys
`active`. With `strict` there are none, what only they can say is left out, and the report says how much that is.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import msgspec

from ...errors import PalaverError, Refused, StoreError, StoreFull, StoreReadOnly
from ...numbered import NumberedRows, SummaryRow
from ...session import Session
from ...store import Store
from . import schema_6, state_file, totals
from .columns import LATER_MESSAGES, LATER_SESSIONS
from .message_rows import of_store
from .rows import MESSAGE_COLUMNS, SESSION_COLUMNS, Row
from .session_columns import MODEL_USAGE, OURS, kept
from .session_rows import metadata, name_of
from .stored_rows import StoredRow, rows_of
from .stored_session import session_row, title_of
from .tables import quoted
from .totals import Spent

NumberOf = Callable[[str], int]  # the number of a message, or of the part of a result
Progress = Callable[[int, int], None]
_LATER = {"sessions": LATER_SESSIONS, "messages": LATER_MESSAGES}
_FIRST = {"sessions": SESSION_COLUMNS, "messages": MESSAGE_COLUMNS}
_BESIDE = ("-wal", "-shm", "-journal")


class ExportReport(msgspec.Struct):
    """What was written. `untitled` are sessions whose title Hermes would not take, `left_out` what a strict file cannot
    say, by what it is; `broken` sessions that could not be read."""

    path: str
    sessions: int = 0
    rows: int = 0
    columns: list[str] = []
    untitled: list[str] = []
    left_out: dict[str, int] = {}
    broken: dict[str, str] = {}


def export_file(
    store: Store,
    path: str | os.PathLike[str],
    strict: bool = False,
    *,
    number_of: NumberOf | None = None,
    progress: Progress | None = None,
) -> ExportReport:
    """Every session of a store as a `state.db`. A file that is there stays as it is: it may be Hermes' own."""
    name = os.fspath(path)
    _refuse(name)
    part = f"{name}.{os.getpid()}.part"
    try:
        _make(name, part)
        with closing(sqlite3.connect(part, isolation_level=None)) as connection:
            file = _File(connection, ExportReport(name), strict)
            file.fill(store, number_of, progress)
        _write_out(part)
        _refuse(name)  # it may have been made since
        os.replace(part, name)
    except sqlite3.Error as error:
        kind = StoreFull if "full" in str(error) else StoreError
        raise kind(f"{name} cannot be written: {error}") from None
    finally:
        for end in ("", *_BESIDE):
            with suppress(OSError):
                os.unlink(part + end)
    return file.report


def _make(path: str, part: str) -> None:
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreReadOnly(f"{path} cannot be written: {error.strerror}") from None


def _write_out(part: str) -> None:
    fd = os.open(part, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _refuse(path: str) -> None:
    if os.path.lexists(path):
        raise Refused(
            f"{path} is there already, and nothing is written over it; name another file, or take it away first"
        )
    if any(os.path.lexists(path + end) for end in _BESIDE):
        raise Refused(f"there is a log beside {path}, of a database that is not there; name another file")


class _File:
    def __init__(self, connection: sqlite3.Connection, report: ExportReport, strict: bool) -> None:
        self.report = report
        self._connection = connection
        self._strict = strict
        self._columns = {table: list(names) for table, names in _FIRST.items()}
        self._titles = set[str]()
        self._has_models = False
        try:
            connection.executescript("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;" + schema_6.TABLES)
        except sqlite3.OperationalError as error:
            raise StoreError(f"this Python's SQLite cannot make Hermes' tables: {error}") from None
        connection.execute("INSERT INTO schema_version (version) VALUES (?)", (schema_6.VERSION,))
        if strict:
            connection.execute(f"PRAGMA application_id = {state_file.STRICT}")

    def fill(self, store: Store, number_of: NumberOf | None, progress: Progress | None) -> None:
        rows = of_store(store)
        self._connection.execute("BEGIN")
        for found in reversed(rows.summaries(roots=False, limit=-1)):
            self._add(rows, found, number_of)
            if progress is not None:
                progress(self.report.sessions, self.report.rows)
        self._connection.execute("COMMIT")
        self.report.columns = [
            f"{table}.{name}" for table, names in self._columns.items() for name in names if name not in _FIRST[table]
        ]
        self._connection.executescript("PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL;")

    def _add(self, rows: NumberedRows, about: SummaryRow, number_of: NumberOf | None) -> None:
        session, name = Session(rows.store, about.id), name_of(about)
        try:
            row = session_row(rows, about)
            found = rows_of(rows, session)
            used = totals.told(session)
        except PalaverError as error:
            self.report.broken[name] = str(error)
            return
        row["title"] = self._title(about, name)
        self._put("sessions", row | counts(found))
        for each in found:
            self._put_row(each, name, number_of)
        self._put_models(row, used, kept(metadata(about), OURS).get(MODEL_USAGE))
        self.report.sessions += 1

    def _title(self, about: SummaryRow, name: str) -> str | None:
        title = title_of(about)
        if title is not None and title not in self._titles:
            self._titles.add(title)
            return title
        if about.title:
            self.report.untitled.append(name)
        return None

    def _put_row(self, each: StoredRow, name: str, number_of: NumberOf | None) -> None:
        if self._strict and not each.is_active:
            self._leave("messages that were summarised" if each.is_compacted else "messages that were taken back")
            return
        state = ({} if each.is_active else {"active": 0}) | ({"compacted": 1} if each.is_compacted else {})
        number = self.report.rows + 1 if number_of is None else number_of(each.ref)
        self._put("messages", {"id": number, "session_id": name, **each.row, **state})
        self.report.rows += 1

    def _put_models(self, row: Row, used: list[Spent], came: Any) -> None:
        """What each model used, where the totals do not say it; as it came, where nothing was counted since."""
        rows = [each for each in came if isinstance(each, dict)] if isinstance(came, list) else []
        if not _is_used_so(row, rows, used):
            rows = []
        if not rows and (not used or _is_said_by_totals(row, used)):
            return
        if self._strict:
            self._leave("what each model used", len(rows or used))
            return
        if not self._has_models:
            self._connection.execute(schema_6.MODEL_USAGE)
            self._has_models = True
        for each in rows:
            known = {name: _bound(value) for name, value in each.items() if name in schema_6.MODEL_USAGE}
            self._insert("session_model_usage", known | {"session_id": row["id"]})
        for one in used if not rows else ():
            if one.model is not None:
                self._put_model(row["id"], one)

    def _put_model(self, name: str, one: Spent) -> None:
        task = "" if one.source == totals.SOURCE else one.key.split(":")[1]
        row: Row = dict(zip(totals.COUNTS, one.usage.counts(), strict=True))
        row |= {"session_id": name, "model": one.model, "task": task}
        row |= {"estimated_cost_usd": one.computed or 0.0, "actual_cost_usd": one.reported or 0.0}
        self._insert("session_model_usage", row)

    def _put(self, table: str, row: Row) -> None:
        """A row with its columns, and what no column of the file has yet gets one."""
        known = {name: value for name, value in row.items() if value is not None}
        for name in [name for name in known if name not in self._columns[table]]:
            if self._strict or not name:
                self._leave(f"{table}.{name}")
                del known[name]
                continue
            declared = _LATER[table].get(name, "")
            self._connection.execute(f"ALTER TABLE {table} ADD COLUMN {quoted(name)} {declared}")
            self._columns[table].append(name)
        self._insert(table, {name: _bound(value) for name, value in known.items()})

    def _insert(self, table: str, row: Row) -> None:
        names, marks = ", ".join(map(quoted, row)), ", ".join("?" * len(row))
        self._connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))

    def _leave(self, what: str, count: int = 1) -> None:
        self.report.left_out[what] = self.report.left_out.get(what, 0) + count


def _is_used_so(row: Row, rows: list[Row], used: list[Spent]) -> bool:
    """Whether the rows by model that came with a session say what it used by now."""
    said = totals.spent(row, rows, lambda _: None) if rows else []
    return {one.key: one for one in said} == {one.key: one for one in used}


def _is_said_by_totals(row: Row, used: list[Spent]) -> bool:
    [first, *others] = used
    return not others and first.source == totals.SOURCE and first.model in (row["model"], None)


def counts(found: list[StoredRow]) -> dict[str, Any]:
    """Of what is active, as a later Hermes counts."""
    active = [each.row for each in found if each.is_active]
    return {"message_count": len(active), "tool_call_count": sum(_calls(row) for row in active)}


def _calls(row: Row) -> int:
    with suppress(ValueError, TypeError, RecursionError):
        calls = json.loads(row["tool_calls"]) if row.get("tool_calls") else []
        return len(calls) if isinstance(calls, list) else 1
    return 1


def _bound(value: Any) -> Any:
    """As a column takes it: JSON for what is no scalar, and for numbers that no column holds."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63):
        return value
    return json.dumps(value)
