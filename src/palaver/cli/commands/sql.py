"""`palaver sql`: the store in SQL. Whatever is asked, nothing can be changed: the engine opens it read-only."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from itertools import chain, islice
from typing import Any

import click

from palaver import BadValue, Store
from palaver.base import address

from .. import location
from ..command import Call, command
from ..ui import sanitize
from ..ui.jsontext import as_json
from ..ui.screen import Screen

_MEASURED = 200  # rows that column widths are taken from
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

Row = tuple[Any, ...]


@command(
    "sql",
    examples=["palaver sql 'SELECT agent, count(*) FROM chat_sessions GROUP BY 1'", "palaver sql < report.sql"],
    keys={
        "columns[]": "column names",
        "rows[]": 'one list per row: numbers, texts, null; bytes as {"hex": …}; infinities, times, decimals as text',
    },
)
@click.argument("query", required=False)
def sql(call: Call, query: str | None) -> None:
    """Ask the store in SQL, read-only.

    Without QUERY: a prompt with a history; or, from a pipe, queries that end with a semicolon at the end of a line. A
    terminal gets columns, a pipe gets tabs."""
    store = call.store(readonly=True)
    if query is not None:
        run(call, store, query)
    elif sys.stdin.isatty():
        _prompt(call, store)
    else:
        for one in _statements(iter(sys.stdin)):
            run(call, store, one)


def run(call: Call, store: Store, query: str) -> None:
    dots = _DOT_SERVER if address.is_server(store.path) else _DOT
    columns, rows = store.db.query(dots.get(query.rstrip(";"), query))
    if call.json:
        _print_json(call.screen, columns, rows)
    elif call.screen.tty:
        _print_table(call.screen, columns, rows)
    else:
        _print_tabs(call.screen, columns, rows)


# ---------------------------------------------------------------- printing


def _print_json(screen: Screen, columns: list[str], rows: Iterator[Row]) -> None:
    """Row by row, so that a large answer needs no memory."""
    screen.out.write(f'{{"columns": {as_json(columns)}, "rows": [')
    for place_in_list, row in enumerate(rows):
        screen.out.write((", " if place_in_list else "") + as_json([_json_value(value) for value in row]))
    screen.out.write("]}\n")


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, Decimal) and value.is_finite() and value == int(value):
        return int(value)  # what Postgres makes of a sum
    is_plain = value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_plain else str(value)


def _print_tabs(screen: Screen, columns: list[str], rows: Iterator[Row]) -> None:
    for row in chain([tuple(columns)] if columns else [], rows):
        screen.say("\t".join(_cell(screen, value) for value in row))


def _print_table(screen: Screen, columns: list[str], rows: Iterator[Row]) -> None:
    """Columns as wide as the first rows need, and no wider than the terminal shares out."""
    first = [[_cell(screen, value) for value in row] for row in islice(rows, _MEASURED)]
    names = [screen.sanitized(name) for name in columns]
    widest = [max(map(sanitize.width, column)) for column in zip(names, *first, strict=True)]
    share = max(4, (screen.width or 80) // max(1, len(names)) - 2)
    widths = [min(width, share) for width in widest] if sum(widest) + 2 * len(widest) > screen.width else widest
    if names:
        screen.line((_row(screen, names, widths), "bold"))
    for row in chain(first, ([_cell(screen, value) for value in row] for row in rows)):
        screen.line(_row(screen, row, widths))


def _row(screen: Screen, cells: list[str], widths: list[int]) -> str:
    shown = [
        sanitize.pad(sanitize.shorten(cell, width, screen.dots), width)
        for cell, width in zip(cells, widths, strict=True)
    ]
    return "  ".join(shown).rstrip()


def _cell(screen: Screen, value: Any) -> str:
    if value is None:
        return "NULL"
    return f"x'{value.hex()}'" if isinstance(value, bytes) else screen.sanitized(value)


# ---------------------------------------------------------------- the prompt


def _prompt(call: Call, store: Store) -> None:
    _remember()
    call.screen.say(_HELP)
    for text in _statements(_typed()):
        try:
            run(call, store, text)
        except BadValue as error:
            call.screen.say(call.screen.paint(call.screen.sanitized(error), "red"))
        call.screen.out.flush()


def _typed() -> Iterator[str]:
    """Lines as they are typed; Ctrl-C drops the line, Ctrl-D or .quit ends."""
    while True:
        try:
            line = input("palaver> ")
        except KeyboardInterrupt:
            print()
            continue
        except EOFError:
            print()
            return
        if line.strip() in (".quit", ".exit", "quit", "exit"):
            return
        yield _HELP_QUERY if line.strip() == ".help" else line


_HELP_QUERY = f"SELECT '{_HELP}' AS help;"


def _statements(lines: Iterator[str]) -> Iterator[str]:
    """Lines joined up to a semicolon at the end of one; dot words are whole by themselves."""
    held: list[str] = []
    for line in lines:
        if line.strip() or held:
            held.append(line.rstrip("\n"))
        if held and (line.rstrip().endswith(";") or held[0].strip() in _DOT):
            yield "\n".join(held).strip()
            held = []
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
