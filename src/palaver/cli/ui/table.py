"""Rows in columns: drawn by `rich` on a terminal with colours, else in plain columns; too narrow for that, in lines."""

from __future__ import annotations

from . import sanitize
from .screen import Screen
from .wrap import wrap

_GAP = 2


class Table:
    """Safe cells under a header. The first column holds names, the others numbers."""

    def __init__(self, header: list[str]) -> None:
        self.header = header
        self.rows: list[list[str]] = []

    def add(self, *cells: str) -> None:
        self.rows.append(list(cells))

    def print(self, screen: Screen) -> None:
        used = [place for place in range(len(self.header)) if any(row[place] for row in self.rows)]
        lines = [[row[place] or "-" for place in used] for row in (self.header, *self.rows)]
        widths = [max(map(sanitize.width, column)) for column in zip(*lines, strict=True)]
        if screen.width and sum(widths) + _GAP * len(widths) > screen.width:
            self._print_lines(screen, lines)
        elif screen.rich:
            screen.say(self._drawn(screen, lines))
        else:
            self._print_columns(screen, lines, widths)

    def _print_lines(self, screen: Screen, lines: list[list[str]]) -> None:
        """Each row by itself: its name, then what it has."""
        header, *rows = lines
        for name, *cells in rows:
            said = ", ".join(f"{label} {cell}" for label, cell in zip(header[1:], cells, strict=True) if cell != "-")
            for line in wrap(f"{name}: {said or '-'}", screen.width, rest="  "):
                screen.say(line)

    def _print_columns(self, screen: Screen, lines: list[list[str]], widths: list[int]) -> None:
        for cells in lines:
            padded = [
                " " * (width - sanitize.width(cell)) + cell if place else sanitize.pad(cell, width)
                for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            screen.say((" " * _GAP).join(padded).rstrip())

    def _drawn(self, screen: Screen, lines: list[list[str]]) -> str:
        from .rich_text import table

        return table(screen, lines)
