"""Short lists in columns: each as wide as its widest cell, two blanks between them."""

from __future__ import annotations

from collections.abc import Iterable

from . import sanitize


def aligned(lines: Iterable[Iterable[str]]) -> list[str]:
    """Lines of safe cells; the last of each stays as it is."""
    cells = [tuple(line) for line in lines]
    widths = [max(map(sanitize.width, column)) for column in zip(*cells, strict=True)][:-1]
    return [
        "".join(sanitize.pad(cell, width) + "  " for cell, width in zip(line, widths, strict=False)) + line[-1]
        for line in cells
    ]
