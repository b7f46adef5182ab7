"""The items of a JSON file as they stand there, byte for byte: the elements of an array, or the lines of a JSON Lines
file. A file that breaks off gives what comes before, and then says where."""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import NamedTuple

from ..errors import BadValue

_SPACE = " \t\r\n"
_decode = JSONDecoder(parse_float=str, parse_int=str).raw_decode  # only to find where an element ends


class Element(NamedTuple):
    """The text of an element, and at which byte it begins."""

    text: str
    place: int


class Broken(NamedTuple):
    """Where a file is no JSON any more, and why."""

    place: int
    why: str

    def error(self, what: str) -> BadValue:
        return BadValue(f"{what} is no JSON from byte {self.place} on: {self.why}; what comes before it is kept")


class Elements(NamedTuple):
    found: list[Element]
    broken: Broken | None


def text_of(data: bytes) -> tuple[str, Broken | None]:
    """A file's text, up to where it is no UTF-8."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        return data[: error.start].decode(), Broken(error.start, "it is not UTF-8")


def array(text: str, begin: int = 0) -> Elements:
    """The elements of the array that begins at a character."""
    found, at, place = list[Element](), begin + 1, len(text[: begin + 1].encode())
    while True:
        at, place = _skipped(text, at, place, _SPACE + "," if found else _SPACE)
        if text[at : at + 1] == "]":
            return Elements(found, None)
        try:
            _, end = _decode(text, at)
        except (JSONDecodeError, RecursionError) as error:
            return Elements(found, Broken(place, _why(error, text, at)))
        found.append(Element(text[at:end], place))
        at, place = end, place + len(found[-1].text.encode())


def lines(text: str) -> Elements:
    """The lines of a JSON Lines file; the last may be cut off."""
    found, place = list[Element](), 0
    for line in text.splitlines(keepends=True) if "\x85" not in text else _lines(text):
        bare = line.strip(_SPACE)
        if bare:
            try:
                _, end = _decode(bare)
            except (JSONDecodeError, RecursionError) as error:
                return Elements(found, Broken(place, _why(error, bare, 0)))
            if end != len(bare):
                return Elements(found, Broken(place, "there is something behind the value of a line"))
            found.append(Element(bare, place + len(line[: line.index(bare)].encode())))
        place += len(line.encode())
    return Elements(found, None)


def _lines(text: str) -> Iterator[str]:
    yield from (line + "\n" for line in text.split("\n"))


def _skipped(text: str, at: int, place: int, skip: str) -> tuple[int, int]:
    while at < len(text) and text[at] in skip:
        at, place = at + 1, place + 1
    return at, place


def _why(error: Exception, text: str, at: int) -> str:
    if isinstance(error, JSONDecodeError) and error.pos < len(text):
        return f"{error.msg} (character {error.pos - at} of the element)"
    return "it is nested too deep" if isinstance(error, RecursionError) else "it breaks off"
