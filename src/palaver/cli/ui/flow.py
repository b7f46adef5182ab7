"""Words as they come, a piece of a line at a time, wrapped between words.

A word that began near the edge may go on with the next piece: on a terminal it is then taken back and written again on
the next line.
"""

from __future__ import annotations

import re

from . import sanitize
from .screen import Screen

_PIECES = re.compile(r"\n|[^\S\n]+|\S+")


class Flow:
    """Writes safe text, and knows how far the line is."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._margin = ""
        self._style = ""
        self._used = 0  # columns of this line
        self._word = ""  # the word that may go on

    def begin(self, label: str = "", margin: str = "", style: str = "") -> None:
        """A new text: on a line of its own, behind its label; its other lines begin with the margin."""
        self.end()
        self._style, self._margin = style, margin
        self._put(label)

    def write(self, text: str) -> None:
        for piece in _PIECES.findall(text):
            if piece == "\n":
                self._next_line()
            elif piece.isspace():
                self._blank(piece)
            else:
                self._add(piece)

    def end(self) -> None:
        """The line is over, if there is one."""
        if self._used:
            self._next_line()

    def _add(self, piece: str) -> None:
        """A word, or what follows of one."""
        begun = self._used - sanitize.width(self._word)
        if not self._fits(piece) and begun > len(self._margin):
            self._screen.out.write("\b \b" * sanitize.width(self._word))
            piece = self._word + piece
            self._next_line()
        if not self._used:
            self._put(self._margin)
        self._put(piece)
        self._word += piece

    def _blank(self, piece: str) -> None:
        piece = piece.replace("\t", "    ") if self._screen.width else piece
        self._word = ""
        if self._fits(piece):
            self._put(piece)

    def _next_line(self) -> None:
        self._screen.say()
        self._used, self._word = 0, ""

    def _fits(self, piece: str) -> bool:
        return not self._screen.width or self._used + sanitize.width(piece) <= self._screen.width

    def _put(self, text: str) -> None:
        self._screen.out.write(self._screen.paint(text, self._style))
        self._used += sanitize.width(text)
        if self._screen.width and self._used > self._screen.width:  # a word longer than a line: the terminal broke it
            self._used %= self._screen.width
