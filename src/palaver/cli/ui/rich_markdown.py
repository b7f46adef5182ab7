"""Markdown on a terminal, drawn by `rich`; what does not fit the width stays as it was written.

The text is safe already. But Markdown has ways of its own to make characters (`&lrm;`), to hide them (HTML, pictures,
definitions and titles of links, cells too many) and to link. So it is read without these; a link shows where it leads;
a block of which a letter could not be read is left as it was written; and every character is made safe once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.table import Table
from rich.text import Text

from .rich_text import LONG, drawn, highlighted
from .wrap import wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

    from .screen import Screen

Safe = Callable[[str], str]
_COLUMN = 8  # columns that a column of a table needs, to be read
_LEVEL, _DEEPEST = 3, 40  # columns that a list in a list takes; levels that are drawn


def markdown(screen: Screen, text: str) -> str:
    """Markdown, drawn; what does not fit the width stays as it was written."""
    if len(text) > LONG:
        return "\n".join(wrap(text, screen.width))
    return drawn(screen, *_pieces(text, screen.width, lambda content: screen.sanitized(content, lines=True)))


class _Code(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield highlighted(str(self.text).rstrip(), self.lexer_name, options.max_width, 2)


class _Heading(Heading):
    """Left, like everything else."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Table(TableElement):
    """What is too long for its cell goes on in the next line; `rich` itself would cut it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for made in super().__rich_console__(console, options):
            if isinstance(made, Table):
                for column in made.columns:
                    column.overflow = "fold"
            yield made


class _Page(Markdown):
    """Blocks of Markdown that were read already."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Code,
        "code_block": _Code,
        "heading_open": _Heading,
        "table_open": _Table,
    }


@cache
def _empty_page() -> _Page:
    return _Page("", hyperlinks=False, justify="default")


def _page(tokens: list[Token]) -> _Page:
    page = copy(_empty_page())
    page.parsed = tokens
    return page


def _pieces(text: str, columns: int, safe: Safe) -> Iterator[RenderableType]:
    """The blocks of a text, to be drawn, or as they were written."""
    lines = text.split("\n")
    for block in _blocks(text):
        begin, end = block[0].map or (0, len(lines))
        written = "\n".join(lines[begin:end]).rstrip("\n")
        if _fits(block, columns) and not _letters(written) - _shown(block):
            yield _page([_made_safe(token, safe) for token in block])
        else:
            yield Text("\n".join(wrap(written, columns)))


@cache
def _reader() -> MarkdownIt:
    rules = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST + 20})
    return rules.enable(["strikethrough", "table"]).disable(["image", "reference"])


def _blocks(text: str) -> Iterator[list[Token]]:
    """The tokens of each paragraph, list, table …"""
    block: list[Token] = []
    for token in _reader().parse(text):
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def _fits(block: list[Token], columns: int) -> bool:
    deepest = max(token.level for token in block)
    cells = sum(token.type == "th_open" for token in block)
    kinds = pairwise(token.type for token in block)
    is_empty = any(after == before.replace("_open", "_close") for before, after in kinds)  # of which nothing is drawn
    return deepest <= min(_DEEPEST, columns // _LEVEL) and cells * _COLUMN <= columns and not is_empty


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))


def _shown(tokens: list[Token]) -> Counter[str]:
    """What can be read of a block when it is drawn: a title of a link, a cell too many, an entity cannot."""
    found: Counter[str] = Counter()
    for token in tokens:
        if token.children:
            found.update(_shown(token.children))
        elif token.markup != "autolink":
            found.update(_letters(f"{token.content}{token.info.split(' ')[0]}{token.attrs.get('href', '')}"))
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
