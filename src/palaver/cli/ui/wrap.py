"""Safe text in lines that fit: broken between words, by the columns that a terminal shows.

A line keeps the blanks it begins with, and so do the lines it is broken into. Only a word that is longer than a whole
line is broken inside. Where there is no width (a pipe), lines stay as they are.
"""

from __future__ import annotations

import re

from . import sanitize

_WORDS = re.compile(r"\S+\s*")
_LEAST = 8  # columns that are left for words, however far they are indented
_TAB = 8


def wrap(text: str, columns: int, *, first: str = "", rest: str = "") -> list[str]:
    """The text in lines of at most so many columns; the first begins with `first`, the others with `rest`."""
    made: list[str] = []
    for line in text.split("\n"):
        begin = rest if made else first
        made += _broken(line, columns, begin, rest) if columns else [begin + line if line else begin.rstrip(" ")]
    return [line.rstrip(" ") for line in made] if columns else made


def _broken(line: str, columns: int, first: str, rest: str) -> list[str]:
    line = line.expandtabs(_TAB)
    if sanitize.width(first) + sanitize.width(line) <= columns:
        return [first + line]
    words = _WORDS.findall(line)
    blanks = _indentation(line, words, columns - sanitize.width(rest))
    room = max(_LEAST, columns - sanitize.width(first) - len(blanks))
    more = max(_LEAST, columns - sanitize.width(rest) - len(blanks))
    begin, *others = _fill(words, room, more)
    return [first + blanks + begin, *(rest + blanks + other for other in others)]


def _indentation(line: str, words: list[str], room: int) -> str:
    """The blanks that a line begins with; fewer, if they would break a word."""
    widths = (sanitize.width(word.rstrip()) for word in words)
    spare = room - max((width for width in widths if width <= room), default=0)
    return " " * min(len(line) - len(line.lstrip(" ")), room // 2, spare)


def _fill(words: list[str], room: int, more: int) -> list[str]:
    """As many words to a line as there is room; after the first line there is room for `more`."""
    lines, left = [""], room
    for word in words:
        bare = word.rstrip()
        blanks = word[len(bare) :]
        if sanitize.width(bare) > left and (lines[-1] or left < more):
            lines.append("")
            left = more
        fits, bare = sanitize.split(bare, left)
        while bare:
            lines[-1] += fits
            lines.append("")
            left = more
            fits, bare = sanitize.split(bare, left)
        bare = fits
        lines[-1] += bare + blanks
        left -= sanitize.width(bare + blanks)
    return lines


def in_lines(items: list[str], columns: int) -> list[str]:
    """`one, two, three`, broken between items: a comma never begins a line, and is left out where it has no room."""
    lines: list[str] = []
    for item in items:
        joined = f"{lines[-1]}, {item}" if lines else item
        if not columns or sanitize.width(joined) <= columns:
            lines[-1:] = [joined]
            continue
        if lines and sanitize.width(lines[-1]) < columns:
            lines[-1] += ","
        lines += wrap(item, columns)
    return lines
