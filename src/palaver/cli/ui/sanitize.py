"""Text from the store, made safe for a terminal. Every stored string goes through `visible` before it is printed.

A transcript may hold anything: escape sequences that move the cursor, rename the window or fill the clipboard, marks
that turn text around, characters without width. Each becomes something to look at: ESC is shown as ␛, a backspace as ␈,
everything else that is invisible or acts as \\u{202e}. What the terminal's encoding cannot say is escaped too.
"""

from __future__ import annotations

import unicodedata

_ACTING = frozenset(("Cc", "Cf", "Zl", "Zp", "Cs"))
_BLANK = frozenset(  # printable by name, yet nothing to see; many are variation selectors, in which a text can hide
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b\u180c\u180d\u180f"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_OF_EMOJI = "\ufe0e\ufe0f"  # selectors that say how the emoji before them looks
_JOINER = "\u200d"  # makes one emoji of two; elsewhere it is nothing to see
_EMOJI = "0123456789#*\u203c\u2049\u2139\u3030\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"  # besides symbols
_CUT = 2  # columns that wide characters take


def visible(text: str, *, lines: bool = False, encoding: str = "utf-8") -> str:
    """The text with nothing left in it that acts on a terminal. `lines`: newlines and tabs stay."""
    if not (text.isprintable() and (text.isascii() or _BLANK.isdisjoint(text))):
        kept = "\n\t" if lines else ""
        pictures = encoding == "utf-8"
        seen = zip("\n" + text, text, text[1:] + "\n", strict=False)  # the first is longer by one
        text = "".join(c if c in kept or not _acts(c, b, after) else _picture(c, pictures) for b, c, after in seen)
    return text if encoding == "utf-8" else _escaped(text, encoding)


def _acts(character: str, before: str, after: str) -> bool:
    if character == _JOINER and _is_of_emoji(before) and unicodedata.category(after) == "So":
        return False
    if character in _OF_EMOJI and (unicodedata.category(before) in ("So", "Sm") or before in _EMOJI):
        return False
    return character in _BLANK or unicodedata.category(character) in _ACTING


def _is_of_emoji(character: str) -> bool:
    return character == "\ufe0f" or unicodedata.category(character) == "So" or "\U0001f3fb" <= character <= "\U0001f3ff"


def _picture(character: str, pictures: bool) -> str:
    code = ord(character)
    if pictures and code < 32:
        return chr(0x2400 + code)
    if pictures and code == 127:
        return "\u2421"
    return f"\\u{{{code:x}}}"


def _escaped(text: str, encoding: str) -> str:
    if text.isascii():
        return text
    return "".join(c if _fits(c, encoding) else f"\\u{{{ord(c):x}}}" for c in text)


def _fits(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


# ---------------------------------------------------------------- columns


def width(text: str) -> int:
    """How many columns a safe text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if character == _JOINER or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return _CUT if unicodedata.east_asian_width(character) in "WF" else 1


def shorten(text: str, columns: int, dots: str = "…") -> str:
    """The text cut to fit, with dots where something is missing."""
    if width(text) <= columns:
        return text
    if columns <= len(dots):
        return dots[: max(0, columns)]
    kept, _ = split(text, columns - len(dots))
    return kept.rstrip() + dots


def shorten_inside(text: str, columns: int, dots: str = "…") -> str:
    """The text cut to fit, with dots in its middle: for names, of which both ends tell something."""
    if width(text) <= columns or columns <= len(dots):
        return shorten(text, columns, dots)
    begin, _ = split(text, (columns - len(dots) + 1) // 2)
    end, _ = split(text[::-1], columns - len(dots) - width(begin))
    return begin + dots + end[::-1]


def split(text: str, columns: int) -> tuple[str, str]:
    """What of the text fits into so many columns, and the rest."""
    used = 0
    for place, character in enumerate(text):
        used += _columns(character)
        if used > columns:
            return text[:place], text[place:]
    return text, ""


def pad(text: str, columns: int) -> str:
    return text + " " * max(0, columns - width(text))
