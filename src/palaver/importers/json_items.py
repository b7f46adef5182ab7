"""The items of a JSON file as they stand there, byte for byte: the elements of an array, the members of an object, or
the lines of a JSON Lines file. A file that breaks off gives what comes before, and then says where."""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any, NamedTuple

from ..base import exact_json
from ..errors import BadValue

_SPACE = " \t\r\n"
_BOM = b"\xef\xbb\xbf"
_decode = JSONDecoder(parse_float=str, parse_int=str).raw_decode  # only to find where an element ends


class Element(NamedTuple):
    """An element: its text, at which byte it begins, and what it says."""

    text: str
    place: int
    value: Any


class Broken(NamedTuple):
    """From where on a file cannot be read, and why."""

    place: int
    why: str

    def error(self, what: str) -> BadValue:
        return BadValue(f"{what} cannot be read from byte {self.place} on: {self.why}; what comes before it is kept")


class Elements(NamedTuple):
    """`end` is the character behind them."""

    found: list[Element]
    broken: Broken | None
    end: int


class Text(NamedTuple):
    """A file's text, up to where it is no UTF-8, and the byte at which it begins."""

    text: str
    begin: int
    cut: Broken | None

    def place(self, at: int) -> int:
        """The byte of a character."""
        return self.begin + len(self.text[:at].encode())

    def skipped(self, at: int) -> int:
        """The first character from there on that is no space."""
        while self.text[at : at + 1] and self.text[at] in _SPACE:
            at += 1
        return at


class _Bad(Exception):
    """An element that is none, at a character."""

    def __init__(self, at: int, why: str) -> None:
        self.at = at
        self.why = why


def text_of(data: bytes, begin: int = 0) -> Text:
    """The text of a file, or of a line that begins at a byte of it."""
    bare = data.removeprefix(_BOM)
    begin += len(data) - len(bare)
    try:
        return Text(bare.decode(), begin, None)
    except UnicodeDecodeError as error:
        return Text(bare[: error.start].decode(), begin, Broken(begin + error.start, "it is not UTF-8"))


def array(source: Text, begin: int) -> Elements:
    """The elements of the array that begins at a character."""
    found, at, place = list[Element](), begin + 1, source.place(begin + 1)
    try:
        while source.text[(start := source.skipped(at)) : start + 1] != "]":
            if found:
                start = source.skipped(_behind(source.text, start, ","))
            place += start - at  # between two elements there is nothing but ASCII
            at = start
            element, at = _element(source.text, at, place)
            found.append(element)
            place += len(element.text.encode())
    except _Bad as bad:
        return Elements(found, _broken(source, bad), len(source.text))
    return Elements(found, None, start + 1)


def members(source: Text, begin: int, opened: tuple[str, ...]) -> tuple[dict[str, Elements], int]:
    """The members of the object that begins at a character, each as an element; an array that is to be opened, as its
    elements. What comes behind the place where it breaks is not there; and the character behind the object."""
    found, at = dict[str, Elements](), begin + 1
    try:
        while source.text[(at := source.skipped(at)) : at + 1] != "}":
            if found:
                at = source.skipped(_behind(source.text, at, ","))
            name, at = _element(source.text, at, 0)
            if not isinstance(name.value, str):
                raise _Bad(at, "the name of a member is text")
            at = source.skipped(_behind(source.text, source.skipped(at), ":"))
            found[name.value], at = _member(source, at, name.value in opened)
    except _Bad as bad:
        found[""] = Elements([], _broken(source, bad), len(source.text))
        return found, len(source.text)
    return found, at + 1


def _member(source: Text, at: int, is_opened: bool) -> tuple[Elements, int]:
    if is_opened and source.text[at : at + 1] == "[":
        elements = array(source, at)
        return elements, elements.end
    element, end = _element(source.text, at, source.place(at))
    return Elements([element], None, end), end


def lines(source: Text) -> Elements:
    """The lines of a JSON Lines file; the last may be cut off."""
    found, place, at = list[Element](), source.begin, 0
    for line in _lines(source.text):
        bare = line.strip(_SPACE)
        try:
            if bare:
                element, end = _element(bare, 0, place + line.index(bare))
                if end != len(bare):
                    raise _Bad(end, "there is something behind the value of a line")
                found.append(element)
        except _Bad as bad:
            return Elements(found, _broken(source, _Bad(at + line.index(bare) + bad.at, bad.why)), len(source.text))
        place, at = place + len(line.encode()), at + len(line)
    return Elements(found, None, len(source.text))


def _lines(text: str) -> Iterator[str]:
    """Only a line feed ends a line: other separators may stand in a JSON string."""
    at = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        yield text[at:end]
        at = end


def _element(text: str, at: int, place: int) -> tuple[Element, int]:
    """The value at a character, and the character behind it."""
    try:
        _, end = _decode(text, at)
        return Element(text[at:end], place, exact_json.parse(text[at:end])), end
    except JSONDecodeError as error:
        if error.pos >= len(text) or error.msg.startswith("Unterminated"):
            raise _Bad(at, "it breaks off") from None
        raise _Bad(at, f"{error.msg} (character {error.pos - at} of the element)") from None
    except RecursionError:
        raise _Bad(at, "it is nested too deep") from None
    except BadValue as error:
        raise _Bad(at, str(error)) from None


def _behind(text: str, at: int, mark: str) -> int:
    if at >= len(text):
        raise _Bad(at, "it breaks off")
    if text[at] != mark:
        raise _Bad(at, f"there should be {mark!r}")
    return at + 1


def _broken(source: Text, bad: _Bad) -> Broken:
    return Broken(source.place(bad.at), bad.why)
