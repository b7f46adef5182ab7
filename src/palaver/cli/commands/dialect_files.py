"""Files of other programs at the command line: `import --from hermes` and `export --dialect hermes`. The work is
`palaver.dialects`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ..command import Call
from ..exits import OK, PROBLEMS, USAGE, Stop
from ..ui.format import count, size
from ..ui.progress import TransferProgress
from ..ui.screen import Screen
from ..wording import worded

if TYPE_CHECKING:
    from palaver.dialects.hermes.exporting import ExportReport
    from palaver.dialects.hermes.importing import ImportReport

NAMES = ("hermes",)
IMPORT_KEYS = {
    "schema": "with --from hermes: the version of the file's schema; null: it says none",
    "skipped[]": "with --from hermes: sessions that are archived or deleted here, and were left alone",
    "tables[]": "with --from hermes: tables that were not brought in, and how many rows they have",
    "unreadable[]": "with --from hermes: what of a damaged file could not be read",
}
NO_IMPORT: dict[str, Any] = {"schema": None, "skipped": [], "tables": [], "unreadable": []}
EXPORT_KEYS = {
    "rows": "with --dialect: how many message rows were written; null otherwise",
    "columns[]": "with --dialect: columns of later versions that hold something, behind those of the schema",
    "untitled[]": "with --dialect: sessions whose title is another's there, or is not allowed",
    "left_out[]": "with --dialect --strict: what the schema cannot say, and how much of it there is",
}
NO_EXPORT: dict[str, Any] = {"rows": None, "columns": [], "untitled": [], "left_out": []}


def import_(call: Call, file: str | None) -> int:
    from palaver.dialects.hermes import importing, place, state_file

    if file == "-":
        raise Stop(USAGE, "a state.db is more than a stream of bytes: name the file", "Usage")
    path = str(place.home()) if file is None else file
    path = os.path.join(path, "state.db") if file is None or os.path.isdir(path) else path
    with state_file.opened(path) as source, TransferProgress() as progress:
        store = call.store(create=True)  # now that there is something to put into it
        report = importing.bring_in(store, source, lambda so_far: progress(so_far.sessions, so_far.bytes))
    refusals = [{"line": one.row, "session": one.session, "why": worded(one.why)} for one in report.problems]
    tables = [f"{name}: {'rows' if rows is None else count(rows, 'row')}" for name, rows in report.tables.items()]
    _tell(call, [f"told: {one}" for one in report.problems] + [f"unreadable: {one}" for one in report.unreadable])
    _tell(call, [f"not brought in: {one}" for one in tables] + report.skipped)
    there = report.sessions - report.new_sessions - len(report.skipped)
    value = {
        **{"imported": report.new_sessions, "already_there": there, "refused": len(refusals)},
        **{"lines": report.rows + report.known, "refusals": refusals, "cut": [], "session": None},
        **{"turns": report.turns, "items": report.rows, "known": report.known, "beside": report.beside, "homeless": 0},
        **{"schema": report.schema_version, "skipped": report.skipped},
        **{"tables": tables, "unreadable": report.unreadable},
    }
    call.done(value, f"{_imported(report)}; they are in {store.path}")
    return PROBLEMS if refusals or report.unreadable else OK


def _imported(report: ImportReport) -> str:
    told = [f"imported {count(report.new_sessions, 'session')}, {count(report.rows, 'message')} of {report.path}"]
    if report.known:
        told.append(f"{count(report.known, 'message')} already there")
    if report.beside:
        told.append(f"{count(report.beside, 'turn')} kept beside, because the session went on here")
    if report.is_newer:
        told.append(f"its schema {report.schema_version} is newer than this Palaver knows, and what it adds is kept")
    if report.unreadable:
        told.append("the file is damaged, and what could be read is here")
    return "; ".join(told)


# ---------------------------------------------------------------- export


def target(sessions: tuple[str, ...], output: str | None, shape: str) -> str:
    """The file to write, named by -o or by itself."""
    named = [*sessions, *([output] if output is not None else [])]
    if shape != "jsonl":
        raise Stop(USAGE, "--format and --dialect are two ways to write: give one of them", "Usage")
    if len(named) != 1:
        raise Stop(USAGE, "--dialect writes every session: name the file, and nothing else", "Usage")
    return named[0]


def export(call: Call, file: str, strict: bool) -> int:
    from palaver.dialects.hermes.exporting import export_file

    store = call.store(readonly=True)
    with TransferProgress() as progress:
        report = export_file(store, file, strict, progress=progress)
    length = os.stat(file).st_size
    left = [f"{what}: {number:,}" for what, number in report.left_out.items()]
    broken = [{"session": name, "why": worded(why)} for name, why in report.broken.items()]
    _tell(call, [f"left out: {one}" for one in left] + [f"without its title: {one}" for one in report.untitled])
    _tell(call, [f"left out: session {one['session']}: {one['why']}" for one in broken])
    value: dict[str, Any] = {"file": file, "format": "hermes", "sessions": None, "bytes": length, "broken": broken}
    value |= {"rows": report.rows, "columns": report.columns, "untitled": report.untitled, "left_out": left}
    call.done(value, f"wrote {_written(report)} to {file}, {size(length)}")
    return PROBLEMS if broken else OK


def _written(report: ExportReport) -> str:
    return f"{count(report.sessions, 'session')} with {count(report.rows, 'message')}"


def _tell(call: Call, lines: list[str]) -> None:
    screen = Screen(sys.stderr)
    for line in () if call.json else lines:
        sys.stderr.write(screen.sanitized(line) + "\n")
