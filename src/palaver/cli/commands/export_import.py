"""`palaver export` and `palaver import`: sessions to a file and from a file. The work is `palaver.exports`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from palaver import Store

from .. import resolve
from ..command import Call, SessionName, command
from ..exits import OK, PROBLEMS, USAGE, Stop
from ..ui.format import count, size
from ..ui.pager import paged
from ..ui.progress import TransferProgress
from ..ui.screen import Screen
from ..whole_file import whole_file
from ..wording import worded
from . import dialect_files, import_from

if TYPE_CHECKING:
    from palaver import exports

FORMATS = ("jsonl", "json", "markdown")


class Target(NamedTuple):
    """A session, up to one of its turns or whole."""

    session_id: str
    turn_id: str | None


@command(
    "export",
    examples=[
        "palaver export -o talks.jsonl",
        "palaver export @ --format markdown | less",
        "palaver export @~2 --format markdown -o before.md",
        "palaver export --dialect hermes state.db",
    ],
    keys={
        "file": "where it was written",
        "format": "jsonl, json or markdown, or the dialect",
        "sessions": "how many sessions were asked for; null: all",
        "bytes": "how long the file is",
        "broken[]": "sessions that could not be exported whole: session and why",
        **dialect_files.EXPORT_KEYS,
    },
)
@click.argument("sessions", nargs=-1, type=SessionName())
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write there; it appears when it is whole, and never over a store or another database. Default: stdout.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(FORMATS),
    default="jsonl",
    show_default=True,
    help="jsonl: everything, for import. json: a line per session, for tools. markdown: for people.",
)
@click.option(
    "--dialect",
    type=click.Choice(dialect_files.NAMES),
    help="All sessions as another program's own file: `hermes` writes the state.db of Hermes Agent.",
)
@click.option("--strict", is_flag=True, help="With --dialect: only what its documented schema has; the rest is told.")
def export(
    call: Call,
    sessions: tuple[str, ...],
    output: str | None,
    shape: str,
    dialect: str | None,
    strict: bool,
) -> int:
    """Write sessions to a file that import reads.

    Without SESSIONS, all of them. Sessions that the chosen ones share turns with come along as far as they are needed.
    With --format json or markdown, SESSION~2 or SESSION@{4} is the session up to there.
    --json needs -o, for stdout is the export's then. Exit code 1 if a session holds something that cannot be exported;
    it is named, and the others are there.

    With --dialect every session goes into one file of another program, which is named by -o or by itself; it is made
    anew, and never put over a file that is there."""
    if dialect is not None:
        return dialect_files.export(call, dialect_files.target(sessions, output, shape), strict)
    if strict:
        raise Stop(USAGE, "--strict goes with --dialect", "Usage")
    store = call.store(readonly=True)
    chosen = [_target(store, name, shape) for name in sessions] or None
    if output is None:
        return _to_stdout(call, store, chosen, shape)
    broken: list[Any] = []
    with whole_file(output) as out, TransferProgress() as progress:
        _write(store, out, chosen, shape, progress, broken)
    length = os.stat(output).st_size
    value = {"file": output, "format": shape, "sessions": len(chosen) if chosen else None, "bytes": length}
    what = count(len(chosen), "session") if chosen else "every session"
    told = {**value, "broken": _report_broken(call, broken), **dialect_files.NO_EXPORT}
    call.done(told, f"wrote {what} to {output}, {size(length)}")
    return PROBLEMS if broken else OK


def _target(store: Store, name: str, shape: str) -> Target:
    """A session, or a place in one where only the reading is wanted."""
    if shape == "jsonl":
        return Target(resolve.session(store, name).id, None)
    found = resolve.target(store, name)
    return Target(found.session.id, found.turn.id if found.turn else None)


def _to_stdout(call: Call, store: Store, chosen: list[Target] | None, shape: str) -> int:
    if call.json:
        raise Stop(USAGE, "--json needs -o FILE: stdout is the export", "Usage")
    if call.screen.tty and shape == "markdown":
        return _to_terminal(call, store, chosen)
    if call.screen.tty:
        raise Stop(USAGE, "an export is not for a terminal: name a file with -o, or pipe it", "Usage")
    sys.stdout.flush()
    broken: list[Any] = []
    with TransferProgress() as progress:
        _write(store, sys.stdout.buffer, chosen, shape, progress, broken)
    sys.stdout.buffer.flush()
    _report_broken(call, broken)
    return PROBLEMS if broken else OK


def _to_terminal(call: Call, store: Store, chosen: list[Target] | None) -> int:
    """A page for people, to be looked at."""
    from palaver import exports

    with paged(call.screen) as screen:
        for number, one in enumerate(chosen or _everything(store)):
            screen.out.write("\n" if number else "")
            screen.out.writelines(exports.markdown(store.db, one.session_id, one.turn_id))
    return OK


def _report_broken(call: Call, broken: list[Any]) -> list[dict[str, Any]]:
    """Sessions that could not be exported whole, said to a person, and as a program reads them."""
    screen = Screen(sys.stderr)
    for one in () if call.json else broken:
        sys.stderr.write(screen.sanitized(f"left out: session {one.session}: {worded(one.why)}") + "\n")
    return [{"session": one.session, "why": worded(one.why)} for one in broken]


def _write(
    store: Store, out: BinaryIO, chosen: list[Target] | None, shape: str, progress: TransferProgress, broken: list[Any]
) -> None:
    from palaver import exports

    if shape == "jsonl":
        ids = None if chosen is None else [one.session_id for one in chosen]
        exports.write(store.db, out, sessions=ids, progress=progress, on_broken=broken.append)
        return
    pieces = exports.inspect if shape == "json" else exports.markdown
    done = 0
    for number, one in enumerate(chosen or _everything(store), 1):
        if number > 1 and shape == "markdown":
            done += out.write(b"\n")
        for piece in pieces(store.db, one.session_id, one.turn_id):
            done += out.write(piece.encode("utf-8", "replace"))
        progress(number, done)


def _everything(store: Store) -> Iterator[Target]:
    """Every session, archived ones too, page by page."""
    for info in store.sessions.list(limit=500, archived=True):
        yield Target(info.id, None)


# ---------------------------------------------------------------- import


@command(
    "import",
    examples=[
        "palaver import talks.jsonl",
        "ssh host palaver export | palaver import -",
        "palaver import --from openai chat.json --id chat-42",
        "palaver import --from hermes",
    ],
    keys={
        "imported": "sessions taken in",
        "already_there": "sessions that were there with the same content",
        "refused": "sessions and lines that were refused",
        "lines": "lines read",
        "refusals[]": "what was refused, with:",
        "  line": "the line of the file",
        "  session": "the session, or null",
        "  why": "a sentence",
        "cut[]": "texts that the store cannot hold whole: session and why",
        "session": "with --from: the session that took it in; null: an export",
        "turns": "with --from: new turns",
        "items": "with --from: new items of the file",
        "known": "with --from: items that were there",
        "beside": "with --from: new turns kept beside, because the session went on here",
        "homeless": "with --from: things that no message has a place for, kept as they came",
        **dialect_files.IMPORT_KEYS,
    },
)
@click.argument("file", metavar="[FILE|-]", required=False)
@click.option(
    "--from",
    "format",
    type=click.Choice((*import_from.FORMATS, *dialect_files.NAMES)),
    help="A conversation instead of an export: UIMessages, or messages of that API, as JSON or JSON Lines; `hermes`: "
    "the state.db of Hermes Agent (without FILE: the one in $HERMES_HOME, else in ~/.hermes).",
)
@click.option(
    "--id", "name", metavar="NAME", help="With --from: which conversation it is; the same again adds what is new."
)
@click.option("--new", "is_new", is_flag=True, help="With --from: a new session, whatever came in before.")
@click.option("--agent", metavar="NAME", help="With --from: who answers in it.")
@click.option("--title", metavar="TITLE", help="With --from: what to call it.")
def import_(
    call: Call,
    file: str | None,
    format: str | None,
    name: str | None,
    is_new: bool,
    agent: str | None,
    title: str | None,
) -> int:
    """Read an export into the store, or a conversation of a model API.

    A session comes in whole or not at all; what is there already stays as it is. Run it again after an interruption: it
    finishes. Exit code 1 if something was refused; the rest is kept. A file that is no export is refused as a whole,
    with what it looks like.

    With --from a conversation comes in: what is there already (by --id and the bytes of each message) is left alone,
    what is new is added, and what was said here since stays. --from hermes brings in every session of its file, with
    the times, costs and lineage that they have there; the file itself is not touched, and may be in use."""
    is_about_one = name is not None or is_new or agent is not None or title is not None
    if format in dialect_files.NAMES:
        if is_about_one:
            raise Stop(
                USAGE,
                "the sessions of such a file have names of their own: leave --id, --new, --agent and --title out",
                "Usage",
            )
        return dialect_files.import_(call, file)
    if file is None:
        raise Stop(USAGE, "name the file to read, or - for stdin", "Usage")
    if format is not None:
        with _source(file) as opened:
            data = opened.read()
        return import_from.run(call, _called(file), data, import_from.Wanted(format, name, is_new, agent, title))
    if is_about_one:
        raise Stop(USAGE, "--id, --new, --agent and --title go with --from", "Usage")
    return _import_export(call, file)


def _import_export(call: Call, file: str) -> int:
    from palaver import exports

    from .. import foreign_files

    refusals: list[exports.Refusal] = []
    cuts: list[exports.Cut] = []
    with _source(file) as opened, TransferProgress() as progress:
        source: Any = foreign_files.checked(_called(file), opened)
        store = call.store(create=True)
        summary = exports.read(store.db, source, progress=progress, on_refused=refusals.append, on_cut=cuts.append)
    refused = [{"line": one.line, "session": one.session, "why": worded(one.why)} for one in refusals]
    cut = [{"session": one.session, "why": one.what} for one in cuts]
    if not call.json:
        _print_problems(refused, cut)
    value = {name: getattr(summary, name) for name in ("imported", "already_there", "refused", "lines")}
    told = {"refusals": refused, "cut": cut, **import_from.NOTHING, **dialect_files.NO_IMPORT}
    call.done({**value, **told}, _imported(summary))
    return PROBLEMS if summary.refused or refusals else OK


def _imported(summary: exports.Summary) -> str:
    there = f", {summary.already_there:,} already there" if summary.already_there else ""
    refused = f", {summary.refused:,} refused" if summary.refused else ""
    return f"imported {count(summary.imported, 'session')}{there}{refused}"


def _called(file: str) -> str:
    return "stdin" if file == "-" else file


@contextmanager
def _source(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        source = open(file, "rb")  # noqa: SIM115
    except OSError as error:
        raise Stop(USAGE, f"cannot read {file}: {error.strerror}", "Usage") from None
    with source:
        yield source


def _print_problems(refused: list[dict[str, Any]], cut: list[dict[str, Any]]) -> None:
    screen = Screen(sys.stderr)
    for one in refused:
        session = f" session {one['session']}" if one["session"] else ""
        sys.stderr.write(screen.sanitized(f"refused: line {one['line']}{session}: {one['why']}") + "\n")
    for one in cut:
        sys.stderr.write(screen.sanitized(f"cut: session {one['session']}: {one['why']}") + "\n")
