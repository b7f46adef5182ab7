"""`palaver sql`: the store in SQL. Whatever is asked, nothing can be changed: the engine opens it read-only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from palaver import BadValue, Store
from palaver.base import address
from palaver.base.exact_json import has_surrogates

from .. import location
from ..command import Call, command
from ..exits import USAGE, Stop
from .sql_output import show

_TABLES = "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
_SCHEMA = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
_HELP = "End a query with ; — .tables and .schema show what there is, .quit leaves."
_DOT = {".tables": _TABLES, ".schema": _SCHEMA}
_DOT_SERVER = {
    ".tables": "SELECT table_name AS name, CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END AS type"
    " FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1",
    ".schema": "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
    " WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position",
}

_CHANGING = (
    *("insert", "update", "delete", "replace", "merge", "truncate", "create", "alter", "drop", "vacuum", "reindex"),
    *("grant", "revoke", "copy", "attach"),
)
_REFUSED = ("not authorized", "read-only", "readonly", "data-modifying")  # how an engine says it


@command(
    "sql",
    examples=[
        "palaver sql 'SELECT agent, count(*) FROM chat_sessions GROUP BY 1'",
        "palaver sql --csv 'SELECT * FROM chat_sessions' > sessions.csv",
        "palaver sql < report.sql",
    ],
    keys={
        "columns[]": "column names",
        "rows[]": 'one list per row: numbers, texts, null; bytes as {"hex": …}; infinities, times, decimals as text '
        '(a query that fails on the way adds "incomplete": true)',
    },
)
@click.argument("query", required=False)
@click.option("--csv", is_flag=True, help="Print CSV (RFC 4180) with a line of column names. NULL is an empty field.")
def sql(call: Call, query: str | None, csv: bool) -> None:
    """Ask the store in SQL, read-only.

    Without QUERY: a prompt with a history; or, from a pipe, queries that end with a semicolon at the end of a line. A
    terminal gets columns, a pipe gets tabs. What --csv writes to a file or a pipe is exact, control characters and all:
    it is for programs."""
    if csv and call.json:
        raise Stop(USAGE, "--csv and --json do not go together; give one of them", "Usage")
    store = call.store(readonly=True)
    if query is not None:
        run(call, store, query, csv=csv)
    elif sys.stdin.isatty():
        _prompt(call, store, csv=csv)
    else:
        for one in _statements(iter(sys.stdin)):
            run(call, store, one, csv=csv)


def run(call: Call, store: Store, query: str, *, csv: bool) -> None:
    if has_surrogates(query):
        raise Stop(USAGE, "cannot run this: the query is not UTF-8", "Usage")
    dots = _DOT_SERVER if address.is_server(store.path) else _DOT
    with _only_reading(query):
        columns, rows = store.db.query(dots.get(query.rstrip(";"), query))
        show(call.screen, columns, rows, json=call.json, csv=csv)


@contextmanager
def _only_reading(query: str) -> Iterator[None]:
    """An engine refuses a change in words of its own, and Postgres does not get as far as seeing one."""
    try:
        yield
    except BadValue as error:
        first = query.split(maxsplit=1)[0].lower() if query.strip() else ""
        if first not in _CHANGING and not any(word in str(error) for word in _REFUSED):
            raise
        raise Stop(USAGE, f"sql only reads: this is refused, and nothing was changed ({error})", "ReadOnly") from None


# ---------------------------------------------------------------- the prompt


_FIRST, _GOES_ON = "palaver> ", "    ...> "


def _prompt(call: Call, store: Store, *, csv: bool) -> None:
    _remember()
    call.screen.say(_HELP)
    held: list[str] = []
    for text in _statements(_typed(held), held):
        try:
            run(call, store, text, csv=csv)
        except (BadValue, Stop) as error:
            call.screen.say(call.screen.paint(call.screen.sanitized(error), "red"))
        call.screen.out.flush()


def _typed(held: list[str]) -> Iterator[str]:
    """Lines as they are typed; Ctrl-C drops what was typed, Ctrl-D or .quit ends. `held`: lines that go on here."""
    while True:
        try:
            line = input(_GOES_ON if held else _FIRST)
        except KeyboardInterrupt:
            held.clear()
            print()
            continue
        except EOFError:
            print()
            return
        if line.strip() in (".quit", ".exit", "quit", "exit"):
            return
        yield _HELP_QUERY if line.strip() == ".help" else line


_HELP_QUERY = f"SELECT '{_HELP}' AS help;"


def _statements(lines: Iterator[str], held: list[str] | None = None) -> Iterator[str]:
    """Lines joined up to a semicolon at the end of one; dot words are whole by themselves. `held`: those that wait for
    the rest."""
    held = [] if held is None else held
    for line in lines:
        if line.strip() or held:
            held.append(line.rstrip("\n"))
        if held and (line.rstrip().endswith(";") or held[0].strip() in _DOT):
            text = "\n".join(held).strip()
            held.clear()
            yield text
    if held:
        yield "\n".join(held).strip()


def _remember() -> None:
    """Line editing, and a history beside the default store."""
    try:
        import readline
    except ImportError:
        return
    import atexit

    if not os.path.isdir(location.home()):
        return
    path = os.path.join(location.home(), "sql_history")
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        readline.read_history_file(path)
    except OSError:
        return
    readline.set_history_length(1_000)
    atexit.register(readline.write_history_file, path)
