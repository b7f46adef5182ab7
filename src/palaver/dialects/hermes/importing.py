"""A `state.db` comes in: its sessions with everything that was said in them, once, however often it is imported.

Whose rows are what is decided by place: `file_turns`. A session that went on here, too, is looked at by `growth`. What
cannot be brought in is told in the report, and the rest is here.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from ...errors import GraftRefused, SessionNotFound
from ...grafts.values import GraftedSession, GraftProgress, GraftSession
from ...session import Session
from ...store import Store
from . import growth, state_file, totals
from .columns import Tell, plain, said
from .file_session import FileSession, mark_of, session_of
from .file_turns import FileRow, file_rows, turns
from .rows import Row
from .session_columns import COMPACTED, IMPORTED, MODEL_USAGE, ORIGIN, OURS, UNKNOWN, kept
from .state_file import StateFile
from .totals import Spent

Progress = Callable[[GraftProgress], None]


class Problem(msgspec.Struct, frozen=True):
    """What could not be brought in as it is: in which session, at which of its rows, and why."""

    session: str | None
    row: int | None
    why: str

    def __str__(self) -> str:
        where = "" if self.session is None else f"session {self.session}" + (f", row {self.row}" if self.row else "")
        return f"{where}: {self.why}" if where else self.why


class ImportReport(msgspec.Struct):
    """What came of an import. `rows` and `known` are message rows that are new and those that were here; `tables` were
    not brought in, with how many rows they have (None: nobody can tell); `unreadable` is what is damaged."""

    path: str
    schema_version: int | None
    is_newer: bool
    sessions: int = 0
    new_sessions: int = 0
    turns: int = 0
    rows: int = 0
    known: int = 0
    beside: int = 0
    skipped: list[str] = []
    problems: list[Problem] = []
    tables: dict[str, int | None] = {}
    unreadable: list[str] = []


def import_file(store: Store, path: str | os.PathLike[str], progress: Progress | None = None) -> ImportReport:
    """Bring in all that is new in a `state.db`."""
    with state_file.opened(path) as file:
        return bring_in(store, file, progress)


def bring_in(store: Store, file: StateFile, progress: Progress | None = None) -> ImportReport:
    """All that is new in one that is open."""
    source = Source(file)
    report = ImportReport(file.path, file.version, (file.version or 0) > state_file.NEWEST)
    for found in source.sessions():
        if file.is_strict and _is_here(store, found):
            why = "is here already, and a strict export has less than it had; it was left alone"
            report.sessions += 1
            report.skipped.append(f"{found.about.id} {why}")
        else:
            _bring_in(store, found, report, progress)
    report.problems = source.problems + report.problems
    report.tables = file.others
    report.unreadable = [str(gap) for gap in file.gaps]
    return report


def sessions_in(file: StateFile) -> Iterator[GraftSession]:
    """Every session of a file, parents first, as it comes into a store that has none of them."""
    for found in Source(file).sessions():
        has_turns = next(found.rows(), None) is not None
        metadata = found.about.metadata(found.about.digest if has_turns else None)
        yield msgspec.structs.replace(found.graft(), metadata=metadata)


# ---------------------------------------------------------------- what a file holds


class Found(NamedTuple):
    """A session of the file: what its row says, what it used, and its rows, which are read when they are asked for."""

    about: FileSession
    spent: list[Spent]
    rows: Callable[[], Iterator[FileRow]]

    def graft(self) -> GraftSession:
        """Without its metadata, which is put there when it is known whether the store has its prompt."""
        return self.about.graft(turns(self.rows(), self.about.prompt))


class Source:
    """The sessions of a file, and what is wrong with them."""

    def __init__(self, file: StateFile) -> None:
        self.problems: list[Problem] = []
        self._file = file
        self._messages: dict[str, array[int]] = {}
        self._compacted: dict[str, list[tuple[int, int]]] = {}  # place, and whether it is active all the same
        self._read_keys()
        self._usage = self._usage_rows()

    def sessions(self) -> Iterator[Found]:
        keys = {}
        for number, given, parent in self._file.sessions.keys("id", "parent_session_id"):
            name = self._name(given)
            if name is None or name in keys:
                self._tell(None, None)(f"row {number} of the sessions has no id of its own, and is left out")
                continue
            keys[name] = (number, self._name(parent))
        for name in self._messages.keys() - keys.keys():
            self._tell(name, None)("its row cannot be read, or is not there; what was said in it is brought in")
        orphans = sorted(self._messages.keys() - keys.keys())
        given = set[str]()
        for name in [*_parents_first({name: parent for name, (_, parent) in keys.items()}), *orphans]:
            number, parent = keys.get(name, (None, None))
            yield self._found(name, number, self._parent(name, parent, given, parent in keys))
            given.add(name)

    def _parent(self, name: str, parent: str | None, given: set[str], is_there: bool) -> str | None:
        if parent is None or parent in given:
            return parent
        why = "by a circle, from itself" if is_there else f"from {parent!r:.80}, which is not in the file"
        self._tell(name, None)(f"it comes {why}; it has no parent here")
        return None

    def _found(self, name: str, number: int | None, parent: str | None) -> Found:
        tell = self._tell(name, None)
        row = None if number is None else self._file.sessions.row(number)
        told = {"id": name, "source": UNKNOWN} if row is None else said(row, self._file.sessions.columns, tell)
        by_model = [{k: v for k, v in each.items() if k != "session_id"} for each in self._usage.get(name, ())]
        flags = self._flags(name) | ({MODEL_USAGE: by_model} if by_model else {})
        about = session_of(told | {"id": name}, parent, flags)
        return Found(about, totals.spent(told, self._usage.get(name, ()), tell), lambda: self._rows(name))

    def _rows(self, name: str) -> Iterator[FileRow]:
        table = self._file.messages

        def found() -> Iterator[Row]:
            for place, number in enumerate(self._messages.get(name, ()), 1):
                row = table.row(number)
                if row is not None:
                    yield said(row, table.columns, self._tell(name, place))

        return file_rows(found())

    def _read_keys(self) -> None:
        """Which rows are whose: their numbers alone, which is little."""
        for number, given, active, compacted in self._file.messages.keys("session_id", "active", "compacted"):
            name = self._name(given)
            if name is None:
                self._tell(None, None)(f"row {number} of the messages belongs to no session, and is left out")
                continue
            rows = self._messages.setdefault(name, array("q"))
            rows.append(number)
            if compacted not in (None, 0):
                self._compacted.setdefault(name, []).append((len(rows), int(active != 0)))

    def _flags(self, name: str) -> Row:
        """Which rows were summarised, as ranges of their places: that happens to rows which are here already."""
        found = self._compacted.get(name, ())
        flags = {f"{COMPACTED}_active": _ranges(p for p, active in found if active)}
        flags[COMPACTED] = _ranges(place for place, active in found if not active)
        return {key: value for key, value in flags.items() if value}

    def _usage_rows(self) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        table = self._file.usage
        for number, given in table.keys("session_id") if table is not None else ():
            name, row = self._name(given), table.row(number) if table is not None else None
            if name is not None and row is not None and table is not None:
                found.setdefault(name, []).append(said(row, (), self._tell(name, None)))
        return found

    def _name(self, given: Any) -> str | None:
        value = plain(given, "id", self._tell(None, None))
        return None if value is None else str(value)

    def _tell(self, session: str | None, row: int | None) -> Tell:
        return lambda why: self.problems.append(Problem(session, row, why))


def _parents_first(parents: dict[str, str | None]) -> Iterator[str]:
    """Each behind the one that it comes from; a circle begins with whoever is first in the file."""
    given = set[str]()
    for name in parents:
        way: list[str] = []
        at: str | None = name
        while at is not None and at in parents and at not in given and at not in way:
            way.append(at)
            at = parents[at]
        given.update(way)
        yield from reversed(way)


def _ranges(places: Iterable[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1][1] = place
        else:
            found.append([place, place])
    return found


# ---------------------------------------------------------------- into a store


def _bring_in(store: Store, found: Found, report: ImportReport, progress: Progress | None) -> None:
    report.sessions += 1
    given = growth.looked_at(store, found.about, found.rows)
    graft = found.graft() if given is None else given.graft
    if _is_as_it_was(store, found):  # then what was done here since stays: it may have been reopened
        graft = msgspec.structs.replace(graft, ended_at=None, end_reason=None)
    grafted = _grafted(store, graft, report, _added(report, progress))
    _count(report, grafted)
    report.known += 0 if given is None else given.known
    if grafted.session_id is None or grafted.skipped:
        return
    session = Session(store, grafted.session_id)
    if given is not None and given.follow(session):
        report.beside -= grafted.beside
    _settle(store, session, found, grafted, is_ours=given is not None)


def _is_here(store: Store, found: Found) -> bool:
    try:
        return bool(store.sessions.get(found.about.id, deleted=True))
    except SessionNotFound:
        return store.find_foreign_id(ORIGIN, found.about.id, scope="session") is not None


def _is_as_it_was(store: Store, found: Found) -> bool:
    """Whether the row of a session says what it said when it last came in."""
    ours = store.find_foreign_id(ORIGIN, found.about.id, scope="session")
    if ours is None:
        return False
    before = kept(Session(store, ours).metadata, OURS)
    return before.get(IMPORTED) == mark_of(found.about, found.spent)


def _grafted(store: Store, graft: GraftSession, report: ImportReport, progress: Progress) -> GraftedSession:
    try:
        done = store.graft(graft, progress=progress)
    except GraftRefused as refused:
        done = refused.report
        report.problems += [Problem(each.session, _place(each.item), str(each.error)) for each in done.problems]
    return done.sessions[0]


def _place(item: str | None) -> int | None:
    return int(item.removeprefix("row-")) if item else None


def _count(report: ImportReport, grafted: GraftedSession) -> None:
    report.new_sessions += grafted.is_new
    report.turns += grafted.turns
    report.rows += grafted.items
    report.known += grafted.known
    report.beside += grafted.beside
    if grafted.skipped:
        report.skipped.append(f"{grafted.foreign_id} is {grafted.skipped} here, and was left alone")


def _added(report: ImportReport, progress: Progress | None) -> Progress:
    """What all sessions came to so far."""
    turns, rows = report.turns, report.rows + report.known

    def tell(one: GraftProgress) -> None:
        if progress is not None:
            progress(GraftProgress(report.sessions, turns + one.turns, rows + one.items, one.bytes))

    return tell


def _settle(store: Store, session: Session, found: Found, grafted: GraftedSession, *, is_ours: bool) -> None:
    """What is the session's own, where the source says something else than the last time."""
    about, info = found.about, session.info
    if grafted.turns and about.ended_at is None and info.ended_at is not None and not grafted.is_new:
        session.reopen()
    if about.title is not None and info.title is None:
        session.title = about.title
    before = info.metadata.get(OURS)
    before = before if isinstance(before, dict) else {}
    mark = mark_of(about, found.spent)
    if before.get(IMPORTED) == mark:
        return
    if is_ours and IMPORTED not in before:  # it was made here: what it says of itself stands
        growth.put_totals(session, found.spent)
        return
    digest = about.digest if about.digest and store.system_prompt(about.digest) is not None else None
    wanted = about.metadata(digest)
    wanted[OURS] = wanted.get(OURS, {}) | {IMPORTED: mark}
    session.update_metadata({"billing": wanted.get("billing"), OURS: wanted[OURS]})
    session.update(facts=about.facts)
    if about.model is not None and not info.model.get("model_id"):
        session.update(model=about.model)
    totals.put(session, found.spent)
