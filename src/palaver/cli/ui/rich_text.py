"""What `rich` draws on a terminal: Markdown, highlighted code, tables. Only this file imports it, and only when used.

It is given text that is safe already. But Markdown has ways of its own to make characters (`&lrm;`), to hide them
(HTML, images, link definitions) and to link, so it is read here without these: whatever was written is seen, a link
shows where it leads, and every character is made safe once more after the reading.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from rich.box import SIMPLE
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from .wrap import wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

    from .screen import Screen

Safe = Callable[[str], str]

_THEME = Theme({"markdown.code": "cyan", "markdown.h1": "bold underline", "markdown.block_quote": "italic"})
_HIGHLIGHTED = 100_000  # characters; longer code is shown as it is
_COLUMN = 8  # columns that a column of a table needs, to be read
_LEVEL, _DEEPEST = 3, 40  # columns that a list in a list takes; levels that are drawn
_BLANK_END = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
_EMPTY = r"(?:(?:\x1b\[[0-9;]*m)*\n)*"  # lines with nothing to see
_MIDDLE = re.compile(rf"{_EMPTY}(.*?){_EMPTY}", re.DOTALL)


def markdown(screen: Screen, text: str) -> str:
    """Markdown, drawn; what does not fit the width stays as it was written."""
    pieces = _pieces(text, screen.width, lambda content: screen.sanitized(content, lines=True))
    return "\n\n".join(_drawn(screen, piece) for piece in pieces)


def code(screen: Screen, text: str, language: str, indent: int) -> str:
    """Code in the colours of its language, or of the file it is in."""
    name = language if language.isalpha() else Syntax.guess_lexer(language)
    return _drawn(screen, _highlighted(text, name, screen.width, indent))


def table(screen: Screen, lines: list[list[str]], names: int) -> str:
    """Rows under the first of them; what follows the names are numbers."""
    header, *rows = lines
    drawn = Table(box=SIMPLE, pad_edge=False, header_style="bold")
    for place, title in enumerate(header):
        drawn.add_column(Text(title), justify="left" if place < names else "right", style="" if place else "yellow")
    for row in rows:
        drawn.add_row(*map(Text, row))
    return _drawn(screen, drawn)


def _drawn(screen: Screen, what: RenderableType) -> str:
    console = Console(
        file=screen.out,
        width=screen.width,
        force_terminal=True,
        color_system="auto" if screen.colour else None,
        theme=_THEME,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={name: os.environ[name] for name in ("TERM", "COLORTERM") if name in os.environ},
    )
    with console.capture() as capture:
        console.print(what)
    found = _MIDDLE.fullmatch(_BLANK_END.sub(r"\1", capture.get()))
    assert found is not None  # everything fits
    return found[1].removesuffix("\n")


def _highlighted(text: str, language: str, columns: int, indent: int) -> Padding:
    """Lines of code that fit, indented."""
    found = Text(text)
    if len(text) <= _HIGHLIGHTED:
        found = Syntax("", language, theme="ansi_dark", background_color="default").highlight(text)
        found.rstrip()
    found.expand_tabs(8)
    lines = [piece for line in found.split("\n", allow_blank=True) for piece in _broken(line, columns - indent)]
    return Padding(Text("\n").join(lines), (0, 0, 0, indent), expand=False)


def _broken(line: Text, columns: int) -> Iterator[Text]:
    """A line as `wrap` breaks it, in its colours: `rich` itself would break words behind an indentation."""
    at = 0
    for piece in wrap(line.plain, columns):
        words = piece.lstrip(" ")
        begin = line.plain.index(words, at)
        at = begin + len(words)
        yield Text(" " * (len(piece) - len(words))) + line[begin:at]


# ---------------------------------------------------------------- Markdown


class _Code(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _highlighted(str(self.text).rstrip(), self.lexer_name, options.max_width, 2)


class _Heading(Heading):
    """Left, like everything else."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Page(Markdown):
    """Blocks of Markdown that were read already."""

    elements = {**Markdown.elements, "fence": _Code, "code_block": _Code, "heading_open": _Heading}  # noqa: RUF012

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__("", hyperlinks=False, justify="default")
        self.parsed = tokens


def _pieces(text: str, columns: int, safe: Safe) -> Iterator[RenderableType]:
    """The blocks of a text, to be drawn, or as they were written."""
    lines = text.split("\n")
    for block in _blocks(text):
        begin, end = block[0].map or (0, len(lines))
        written = "\n".join(lines[begin:end]).rstrip("\n")
        if _fits(block, columns) and not _letters(written) - _shown(block):
            yield _Page([_made_safe(token, safe) for token in block])
        else:
            yield Text("\n".join(wrap(written, columns)))


def _blocks(text: str) -> Iterator[list[Token]]:
    """The tokens of each paragraph, list, table …"""
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST + 20}).enable(["strikethrough", "table"])
    block: list[Token] = []
    for token in reader.disable(["image", "reference"]).parse(text):
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def _fits(block: list[Token], columns: int) -> bool:
    deepest = max(token.level for token in block)
    cells = sum(token.type == "th_open" for token in block)
    return deepest <= min(_DEEPEST, columns // _LEVEL) and cells * _COLUMN <= columns


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))


def _shown(tokens: list[Token]) -> Counter[str]:
    """What can be read of a block when it is drawn: a title of a link, a cell too many, an entity cannot."""
    found: Counter[str] = Counter()
    for token in tokens:
        if token.children:
            found += _shown(token.children)
        else:
            found += _letters(f"{token.content}{token.info.split(' ')[0]}{token.attrs.get('href', '')}")
    return found


def _made_safe(token: Token, safe: Safe) -> Token:
    token.content = safe(token.content)
    if "href" in token.attrs:
        token.attrs["href"] = safe(str(token.attrs["href"]))
    if token.type == "softbreak":  # a line that somebody ended is a line
        token.type = "hardbreak"
    if token.children:
        token.children = [_made_safe(child, safe) for child in token.children if child.markup != "autolink"]
    return token
