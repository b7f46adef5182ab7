"""Reading an export: group by group, each taken in whole or refused with its line and a reason.

A group is first read to its end into a temporary file and checked, without touching the store: so a slow
pipe never holds a lock, and what is torn or altered never reaches a table. Then it goes in, in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO

import msgspec

from ..base import arguments
from ..core.upkeep import filling, records
from ..db.engine import Database, Tx
from ..errors import BadValue, StoreError
from . import fitting, tables
from .groups import Group
from .husks import is_husk
from .import_group import COMPLETE, FRESH, MERGE, Arrival, FastPathMissed, take_entries
from .lines import Lines, fields_of
from .results import Cut, Progress, Refusal, Rejected, Summary
from .tables import Table

_IN_MEMORY = 4 << 20
_EVERY = 4 << 20  # bytes between two reports of progress
_VOLATILE = {"event_seq", "events_floor", "last_at", "looked_at"}  # of heads: they move when others fork or look

_encode = msgspec.json.encode


def read(
    db: Database,
    source: BinaryIO,
    progress: Progress | None = None,
    on_refused: Callable[[Refusal], None] | None = None,
    on_cut: Callable[[Cut], None] | None = None,
) -> Summary:
    """Take in every session of an export that is not there yet. `on_refused` hears of each one that is not taken,
    `on_cut` of each text that was too long for the store's indexes."""
    arguments.function("progress", progress)
    arguments.function("on_refused", on_refused)
    arguments.function("on_cut", on_cut)
    return _Import(
        arguments.database(db), arguments.binary("source", source, "read"), progress, on_refused, on_cut
    ).run()


class _Import:
    """One import: where it is in the file, and what it came to so far."""

    def __init__(
        self,
        db: Database,
        source: BinaryIO,
        progress: Progress | None,
        on_refused: Callable[[Refusal], None] | None,
        on_cut: Callable[[Cut], None] | None,
    ) -> None:
        self._db = db
        self._lines = Lines(source)
        self._progress = progress
        self._on_refused = on_refused
        self._on_cut = on_cut
        self._told = 0
        self._version = tables.VERSION
        self._groups = self._imported = self._there = self._refusals = 0

    def run(self) -> Summary:
        self._version = self._lines.first()
        while self._step():
            self._tell(0)
        self._tell(0)
        if self._imported:  # if it comes to nothing, maintenance does it
            filling.fill_all(self._db)
        return Summary(self._imported, self._there, self._refusals, self._lines.number)

    def _step(self) -> bool:
        """One group, or the end of the file; False after the end."""
        try:
            line = self._lines.next()
            if line is None:
                self._refuse(self._lines.number, None, "the file ends here without its last line: it was truncated")
                return False
            fields = fields_of(line)
        except BadValue as error:
            return self._lost(str(error))
        if "session" in fields:
            return self._group(fields)
        if fields.get("end") == "export":
            return self._end(fields)
        return self._lost("a session's first line was expected here")

    def _lost(self, why: str) -> bool:
        self._refuse(self._lines.number, None, why + "; everything up to the next session is left out")
        return self._skip()

    def _skip(self) -> bool:
        """To the next group, or the last line; False at the end of the file."""
        while True:
            try:
                line = self._lines.next()
            except BadValue:
                continue
            if line is None or line.startswith((b'{"session":', b'{"end":"export"')):
                break
            self._tell(_EVERY)
        if line is not None:
            self._lines.again(line)
        return line is not None

    def _end(self, fields: dict[str, Any]) -> bool:
        at = self._lines.number
        if set(fields) != {"end", "sessions"} or fields["sessions"] != self._groups:
            self._refuse(
                at, None, f"the file says that it holds {fields.get('sessions')} sessions, {self._groups} were in it"
            )
        try:
            more = self._lines.next() is not None
        except BadValue:
            more = True
        if more:
            self._refuse(at + 1, None, "there is text after the last line of the export; it is left out")
        return False

    # ------------------------------------------------------------ one group

    def _group(self, fields: dict[str, Any]) -> bool:
        self._groups += 1
        name = fields["session"]
        session_id = name if isinstance(name, str) else None
        with SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
            try:
                arrival = self._receive(fields, spool)
            except BadValue as error:
                self._refuse(self._lines.number, session_id, str(error))
                return self._skip()
            try:
                self._settle(arrival)
            except Rejected as error:
                self._refuse(error.line, session_id, error.why)
            except (BadValue, StoreError) as error:
                if type(error) not in (BadValue, StoreError):  # the store's own trouble, not the session's
                    raise
                self._refuse(arrival.first - 1, session_id, str(error))
        return True

    def _receive(self, fields: dict[str, Any], spool: IO[bytes]) -> Arrival:
        """Read a group to its last line and check everything that can be checked without the store."""
        if set(fields) - {"session", "husk"} or fields.get("husk") not in (None, True):
            raise BadValue('a session begins with {"session":"…"}')
        if not isinstance(fields["session"], str) or not fields["session"] or "\0" in fields["session"]:
            raise BadValue("a session's name is text")
        sorter = _Sorter(fields["session"], "husk" in fields, self._version)
        first, hasher = self._lines.number + 1, sha256()
        for line, found in self._rows(fields["session"]):
            if "end" in found:
                _check_footer(found, self._lines.number - first, hasher.hexdigest())
                arrival = Arrival(fields["session"], "husk" in fields, spool, first, sorter.finish(), self._version)
                return self._fitted(arrival, spool) if sorter.has_long and self._db.longest_key else arrival
            sorter.add(line, found)
            hasher.update(line)
            spool.write(line)
            self._tell(_EVERY)
        raise AssertionError("unreachable")

    def _fitted(self, arrival: Arrival, spool: IO[bytes]) -> Arrival:
        """The same session as the store's indexes can hold it."""
        cuts = fitting.fit(spool, arrival.version)
        sorter = _Sorter(arrival.session_id, arrival.husk, arrival.version)
        spool.seek(0)
        for line in spool:
            sorter.add(line, fields_of(line))
        if self._on_cut is not None:
            for what in cuts:
                self._on_cut(Cut(arrival.session_id, what))
        content = sorter.finish()
        return Arrival(arrival.session_id, arrival.husk, spool, arrival.first, content, arrival.version)

    def _rows(self, session_id: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """The lines of a group, its last one included; BadValue where the group breaks off."""
        while True:
            line = self._lines.next()
            if line is None:
                raise BadValue("the file ends inside this session: it was truncated")
            found = fields_of(line)
            if "table" not in found and found.get("end") != session_id:
                self._lines.again(line)
                raise BadValue("the session has no last line before this one: lines of it are missing")
            yield line, found

    def _settle(self, arrival: Arrival) -> None:
        with self._db.read() as tx:
            mode = _compare(tx, arrival)
        if mode is None:
            self._there += 1
            return
        try:
            with self._db.write(hard=True) as tx:
                changed = take_entries(tx, arrival, mode)
        except FastPathMissed:
            with self._db.write(hard=True) as tx:
                changed = take_entries(tx, arrival, mode, careful=True)
        self._imported += changed
        self._there += not changed

    # ------------------------------------------------------------ telling

    def _refuse(self, line: int, session_id: str | None, why: str) -> None:
        self._refusals += 1
        if self._on_refused is not None:
            self._on_refused(Refusal(line, session_id, why))

    def _tell(self, every: int) -> None:
        if self._progress is not None and self._lines.bytes - self._told >= every:
            self._told = self._lines.bytes
            self._progress(self._groups, self._lines.bytes)


class _Sorter:
    """Checks the rows of a group one by one, and makes the hash by which its content is compared."""

    def __init__(self, session_id: str, husk: bool, version: int) -> None:
        self._session_id = session_id
        self._husk = husk
        self._version = version
        self._created_at: int | None = None
        self.has_long = False  # a text that an index may not hold
        self._rank = 0
        self._seen: set[str] = set()
        self._content = sha256()

    def add(self, line: bytes, fields: dict[str, Any]) -> None:
        table = tables.BY_NAME.get(fields["table"]) if isinstance(fields["table"], str) else None
        if table is None or table.since > self._version:
            raise BadValue(f"an export of version {self._version} has no table {fields['table']!r:.60}")
        row = table.row(fields, self._version)
        rank = tables.RANK[table.name]
        if rank < self._rank:
            raise BadValue(f"a row of {table.name} comes too late: lines are out of order")
        if rank < 2 and table.name in self._seen:
            raise BadValue(f"a second row of {table.name} for one session")
        if table.home and row[table.home] != self._session_id:
            raise BadValue(f"the row belongs to session {row[table.home]!r:.60}, not to this one")
        if table is tables.HEADS and is_husk(row["revision"], row["deleted_at"]) != self._husk:
            raise BadValue("the session's first line and its head do not agree whether it is a husk")
        if table is tables.SESSIONS:
            self._created_at = row["created_at"]
        if table is tables.FACTS and row["created_at"] != self._created_at:
            raise BadValue(f"the fact {row['name']!r:.60} has another created_at than its session")
        self.has_long = self.has_long or fitting.is_too_long(table, row)
        self._rank = rank
        self._seen.add(table.name)
        add_content(self._content, table, line, row, self._version)

    def finish(self) -> bytes:
        if tables.SESSIONS.name not in self._seen:
            raise BadValue("the session's own row is missing")
        return self._content.digest()


def add_content(hasher: Any, table: Table, line: bytes, row: dict[str, Any], version: int) -> None:
    """What counts when two copies of a session are compared, by what their version of the format says: not the numbers
    that forks and looks move, and not what is named by its content."""
    if table is tables.HEADS:
        known = table.names_in(version)
        hasher.update(_encode({name: row[name] for name in known if name not in _VOLATILE}))
    elif table not in (tables.PROMPTS, tables.BODIES):
        hasher.update(line)


def _check_footer(fields: dict[str, Any], lines: int, digest: str) -> None:
    if set(fields) != {"end", "lines", "sha256"}:
        raise BadValue('a session ends with {"end":"…","lines":…,"sha256":"…"}')
    if fields["lines"] != lines:
        raise BadValue(f"the session has {lines} lines, not {fields['lines']!r:.20}: some were lost or added")
    if fields["sha256"] != digest:
        raise BadValue("the session's lines are not what was written: their SHA-256 does not fit")


def _compare(tx: Tx, arrival: Arrival) -> str | None:
    """How a group may go in; None: it is there already."""
    standing = records.standing.one(tx, session=arrival.session_id)
    if standing is None:
        return FRESH
    if _content_of(tx, arrival) == arrival.content:
        return None
    if arrival.husk:
        return MERGE
    if is_husk(*standing):
        return COMPLETE
    raise Rejected(arrival.first - 1, f"session {arrival.session_id} exists and differs; nothing was changed")


def _content_of(tx: Tx, arrival: Arrival) -> bytes:
    """The same hash, over what the store has of the turns that the file names."""
    hasher = sha256()
    for table, row in Group(arrival.session_id, arrival.turn_ids).rows(tx):
        if table.since <= arrival.version:
            line = table.line(row, arrival.version)
            add_content(hasher, table, line, dict(zip(table.names, row, strict=True)), arrival.version)
    return hasher.digest()
