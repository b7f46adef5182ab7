"""The answer to a query: columns for a terminal, tabs for a pipe, JSON or CSV for a program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from palaver import PalaverError

from ..ui import sanitize
from ..ui.jsontext import as_json
from ..ui.screen import Screen

Row = tuple[Any, ...]
_MEASURED = 200  # rows that column widths are taken from
_QUOTED = re.compile(r'[",\r\n]')


def show(screen: Screen, columns: list[str], rows: Iterator[Row], *, json: bool, csv: bool) -> None:
    if json:
        _print_json(screen, columns, rows)
    elif csv:
        _print_csv(screen, columns, rows)
    elif screen.tty:
        _print_table(screen, columns, rows)
    else:
        _print_tabs(screen, columns, rows)


def _print_json(screen: Screen, columns: list[str], rows: Iterator[Row]) -> None:
    """Row by row, so that a large answer needs no memory."""
    screen.out.write(f'{{"columns": {as_json(columns)}, "rows": [')
    try:
        for place_in_list, row in enumerate(rows):
            screen.out.write((", " if place_in_list else "") + as_json([_json_value(value) for value in row]))
    except PalaverError:  # what was said so far is JSON all the same, and cannot be taken for the whole
        screen.out.write('], "incomplete": true}\n')
        raise
    screen.out.write("]}\n")


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, Decimal) and value.is_finite() and value == int(value):
        return int(value)  # what Postgres makes of a sum
    is_plain = value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_plain else str(value)


def _print_csv(screen: Screen, columns: list[str], rows: Iterator[Row]) -> None:
    for row in chain([tuple(columns)] if columns else [], rows):
        fields = [_field(screen, value) for value in row]
        screen.out.write((",".join(fields) if fields != [""] else '""') + "\r\n")  # no line is empty


def _field(screen: Screen, value: Any) -> str:
    """A value as a field: in quotes where it has to be, and an empty text, too, which is not NULL."""
    if value is None:
        return ""
    text = f"x'{value.hex()}'" if isinstance(value, bytes) else str(value)
    text = screen.sanitized(text, lines=True) if screen.tty else text
    return '"' + text.replace('"', '""') + '"' if not text or _QUOTED.search(text) else text


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
