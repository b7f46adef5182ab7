"""What `rich` draws on a terminal: highlighted code, tables, and whatever else is handed to it as lines of text.

It is imported by who draws, when something is drawn: a pipe never pays for it. What it is given is safe already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING

from rich.box import SIMPLE
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from .wrap import wrap

if TYPE_CHECKING:
    from .screen import Screen

_THEME = Theme({"markdown.code": "cyan", "markdown.h1": "bold underline", "markdown.block_quote": "italic"})
LONG = 200_000  # characters; a longer text is shown as it is
_LONG_LINE = 4_000  # characters; code with a longer line was made by a program, and its colours would cost long
_BLANK_END = re.compile(r"(?: |\x1b\[[0-9;]*m)+$", re.MULTILINE)
_EMPTY = r"(?:(?:\x1b\[[0-9;]*m)*\n)*"  # lines with nothing to see
_MIDDLE = re.compile(rf"{_EMPTY}(?P<middle>.*?){_EMPTY}", re.DOTALL)


def code(screen: Screen, text: str, language: str, indent: int) -> str:
    """Code in the colours of its language, or of the file it is in."""
    name = language if language.isalpha() else Syntax.guess_lexer(language)
    return drawn(screen, highlighted(text, name, screen.width, indent))


def table(screen: Screen, lines: list[list[str]]) -> str:
    """Rows under the first of them; what follows their names are numbers."""
    header, *rows = lines
    made = Table(box=SIMPLE, pad_edge=False, header_style="bold")
    for place, title in enumerate(header):
        made.add_column(Text(title), justify="right" if place else "left", style="" if place else "yellow")
    for row in rows:
        made.add_row(*map(Text, row))
    return drawn(screen, made)


def drawn(screen: Screen, *what: RenderableType) -> str:
    """Each of them, with an empty line between."""
    console = _console(screen.width)
    return "\n\n".join(_captured(console, each) for each in what)


@cache
def _console(columns: int) -> Console:
    """Made once: a transcript is drawn in many pieces. Nothing is written to its file, only captured."""
    return Console(
        file=StringIO(),
        width=columns,
        force_terminal=True,
        color_system="auto",
        theme=_THEME,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={name: os.environ[name] for name in ("TERM", "COLORTERM") if name in os.environ},
    )


def _captured(console: Console, what: RenderableType) -> str:
    with console.capture() as capture:
        console.print(what)
    found = _MIDDLE.fullmatch(_BLANK_END.sub(lambda end: end[0].replace(" ", ""), capture.get()))
    assert found is not None  # everything fits
    return found["middle"].removesuffix("\n")


def highlighted(text: str, language: str, columns: int, indent: int) -> Padding:
    """Lines of code that fit, indented."""
    found = Text(text)
    if len(text) <= LONG and max(map(len, text.split("\n"))) <= _LONG_LINE:
        found = Syntax("", language, theme="ansi_dark").highlight(text)
        found.rstrip()
    found.expand_tabs(8)
    lines = [piece for line in found.split("\n", allow_blank=True) for piece in _broken(line, columns - indent)]
    return Padding(Text("\n").join(lines), (0, 0, 0, indent), expand=False)


def _broken(line: Text, columns: int) -> Iterator[Text]:
    """A line as `wrap` breaks it, in its colours: `rich` itself would break words behind an indentation."""
    pieces, plain = wrap(line.plain, columns), line.plain
    cuts, at = [], 0
    for piece in pieces:
        words = piece.lstrip(" ")
        begin = plain.index(words, at)
        at = begin + len(words)
        cuts += [begin, at]
    for piece, words_of_it in zip(pieces, line.divide(cuts)[1::2], strict=False):  # each looks at all colours: once
        yield Text(" " * (len(piece) - len(words_of_it))) + words_of_it
