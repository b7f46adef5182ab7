"""Where output goes: a terminal with colours and a width, a pipe with neither, or JSON for programs.

Colours are plain ANSI, on a terminal only, and never with NO_COLOR.
"""

from __future__ import annotations

import os
import sys

from . import sanitize

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from typing import Any, TextIO

_ANSI = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35"}


class Screen:
    """Standard output, and what it can do."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.raw = False
        self.encoding = _encoding(self.out)
        self.tty = self.out.isatty()
        self.colour = self.tty and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.width = _columns(self.out) if self.tty else 0
        self.dots = "…" if self.encoding == "utf-8" else "..."

    @property
    def rich(self) -> bool:
        """Whether Markdown and code are drawn: on a terminal that has colours and every character."""
        return self.colour and self.encoding == "utf-8" and not self.raw

    def sanitized(self, text: object, *, lines: bool = False) -> str:
        """A stored value, fit to be printed; as it is only if `--raw` asked for that."""
        if self.raw:
            return str(text)
        return sanitize.visible(str(text), lines=lines, encoding=self.encoding)

    def fit(self, text: str, columns: int | None = None) -> str:
        """Cut to the terminal's width, or to so many columns; a pipe gets everything."""
        if columns is None:
            columns = self.width
        return sanitize.shorten(text, columns, self.dots) if self.width else text

    def line(self, *pieces: tuple[str, str] | str) -> None:
        """One line of safe pieces, each plain or with a style, cut to the terminal's width."""
        self.out.write(self.styled(*pieces) + "\n")

    def whole_line(self, *pieces: tuple[str, str]) -> None:
        """As `line`, but what has no room goes on below: nothing is cut."""
        if not self.width or sum(sanitize.width(text) for text, _ in pieces) <= self.width:
            self.line(*pieces)
            return
        from .wrap import wrap

        for text, style in pieces:
            for one in wrap(text.strip(), self.width) if text.strip() else ():
                self.say(self.paint(one, style))

    def styled(self, *pieces: tuple[str, str] | str) -> str:
        room, made = self.width or sys.maxsize, []
        for piece in pieces:
            text, style = (piece, "") if isinstance(piece, str) else piece
            text = sanitize.shorten(text, room, self.dots) if self.width else text
            room -= sanitize.width(text) if self.width else 0
            made.append(self.paint(text, style))
        return "".join(made)

    def paint(self, text: str, style: str) -> str:
        if not (self.colour and style and text):
            return text
        codes = ";".join(_ANSI[name] for name in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m"

    def say(self, text: str = "") -> None:
        """Safe text as it is, however long."""
        self.out.write(text + "\n")

    def hint(self, text: str) -> None:
        """Something for the person who looks, and no part of the answer: a pipe, whoever reads it, never has it."""
        if self.tty:
            self.line((text, "dim"))
        elif sys.stderr.isatty():
            sys.stderr.write(f"{text}\n")

    def json(self, value: Any) -> None:
        from .jsontext import as_json

        self.out.write(as_json(value) + "\n")


def say_aside(sentence: str, *, json: bool) -> None:
    """On stderr: nothing went wrong, but whoever reads the answer should know."""
    if json:
        from .jsontext import as_json

        sys.stderr.write(as_json({"note": sentence}) + "\n")
    else:
        sys.stderr.write(f"palaver: note: {Screen(sys.stderr).sanitized(sentence)}\n")


def _encoding(out: TextIO) -> str:
    named = (getattr(out, "encoding", None) or "ascii").lower().replace("_", "-")
    return "utf-8" if named in ("utf-8", "utf8") else named


def _columns(out: TextIO) -> int:
    """COLUMNS if it is set, else what the terminal says."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def prepare_streams() -> None:
    """No character may end a command: what an encoding cannot say is escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")
