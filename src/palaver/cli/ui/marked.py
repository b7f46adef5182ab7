"""A text with marks, made safe and broken into lines: the marks stay where they were.

Marks are offsets into a text as it was stored, and escaping makes it longer. So it is made safe piece by piece, between
the marks and inside them; nothing that stands in a text can be taken for a mark.
"""

from __future__ import annotations

from .screen import Screen
from .wrap import wrap

TYPE_CHECKING = False  # typing's own would cost its import, and a search starts without it
if TYPE_CHECKING:
    from collections.abc import Iterable

    Marks = Iterable[tuple[int, int]]


def marked_lines(screen: Screen, text: str, marks: Marks, *, margin: str, style: str) -> list[str]:
    """The text in lines that fit, each behind the margin, with the marks in a style."""
    safe, moved = made_safe(screen, text, marks)
    columns = max(1, screen.width - len(margin)) if screen.width else 0
    made, at = [], 0
    for line in wrap(safe, columns):
        words = line.strip(" ")
        begin = safe.index(words, at)
        at = begin + len(words)
        made.append(margin + _painted(screen, safe, (begin, at), moved, style))
    return made


def made_safe(screen: Screen, text: str, marks: Marks) -> tuple[str, list[tuple[int, int]]]:
    """The text fit to be printed, and its marks where they are then."""
    safe, moved, at = "", [], 0
    for start, end in marks:
        safe += screen.sanitized(text[at:start])
        marked = screen.sanitized(text[start:end])
        moved.append((len(safe), len(safe) + len(marked)))
        safe += marked
        at = end
    return safe + screen.sanitized(text[at:]), moved


def _painted(screen: Screen, text: str, line: tuple[int, int], marks: Marks, style: str) -> str:
    """A line of the text; a mark that is broken goes on in the next."""
    at, end = line
    made = ""
    for first, last in marks:
        first, last = max(first, at), min(last, end)
        if first < last:
            made += text[at:first] + screen.paint(text[first:last], style)
            at = last
    return made + text[at:end]
