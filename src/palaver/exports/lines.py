"""The lines of a file, counted, each of bounded length, and what kind of line each is."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import msgspec

from ..errors import BadValue
from .results import NotAnExport
from .tables import VERSION

FIRST = 64 << 10  # bytes that the first line may have
LONGEST = 512 << 20
_PIECE = 1 << 20
_KNOWN = {"version": VERSION, "schema": 1}

_decode = msgspec.json.Decoder(dict[str, str | int | float | bool | None]).decode
_encode = msgspec.json.encode


class Lines:
    """Reads a source line by line. `number` is that of the line read last."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._again: bytes | None = None
        self.number = 0
        self.bytes = 0

    def first(self) -> int:
        """The header: which version of the format the file has; or NotAnExport."""
        line = self._read(FIRST)
        if len(line) > FIRST or not line.startswith(b"{"):
            raise NotAnExport(_what_it_is(line))
        try:
            fields = fields_of(line)
        except BadValue as error:
            raise NotAnExport(f"it is not the first line of an export: {error}") from None
        _check_header(fields)
        if line.endswith(b"\r\n"):
            raise NotAnExport("the line ends were changed to CR LF on the way; fetch the file again as binary")
        return int(fields["version"])

    def next(self) -> bytes | None:
        """The next line with its end; None at the end of the file. A line over LONGEST is skipped: BadValue."""
        if self._again is not None:
            line, self._again = self._again, None
            return line
        line = self._read(LONGEST)
        if len(line) > LONGEST:
            self._skip()
            raise BadValue(f"the line is longer than {LONGEST >> 20} MB")
        return line or None

    def again(self, line: bytes) -> None:
        """Let `next` return this line once more."""
        self._again = line

    def _read(self, limit: int) -> bytes:
        line = self._source.readline(limit + 1)
        self.number += bool(line)
        self.bytes += len(line)
        return line

    def _skip(self) -> None:
        while piece := self._source.readline(_PIECE):
            self.bytes += len(piece)
            if piece.endswith(b"\n"):
                return


def fields_of(line: bytes) -> dict[str, Any]:
    """A line as an object of plain values; BadValue if it is anything else."""
    if not line.endswith(b"\n"):
        raise BadValue("the line is cut off: the file was truncated here")
    try:
        fields = _decode(line)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadValue(f"not a line of an export: {error}") from None
    ours = _encode(fields)
    if len(ours) + 1 != len(line) or not line.startswith(ours):  # written another way, or a key twice
        _refuse_twins(line)
    return fields


def known_fields(line: bytes) -> dict[str, Any]:
    """A line that was checked before."""
    return _decode(line)


def _refuse_twins(line: bytes) -> None:
    seen: set[str] = set()
    for key, _ in json.loads(line, object_pairs_hook=list):
        if key in seen:
            raise BadValue(f"the key {key!r:.60} is there twice")
        seen.add(key)


def _check_header(fields: dict[str, Any]) -> None:
    if fields.get("palaver") != "export":
        raise NotAnExport('it is not the first line of an export, {"palaver":"export",…}')
    for key, known in _KNOWN.items():
        given = fields.get(key)
        if type(given) is not int or given < 1:
            raise NotAnExport(f"the {key} of the export is missing")
        if given > known:
            raise NotAnExport(f"the export has {key} {given}, this Palaver knows up to {known}; upgrade Palaver")


def _what_it_is(line: bytes) -> str:
    if not line:
        return "the file is empty"
    if line.startswith((b"\x1f\x8b", b"PK\x03\x04", b"(\xb5/\xfd", b"BZh", b"\xfd7zXZ")):
        return "the file is compressed; unpack it first"
    if line.startswith(b"\xef\xbb\xbf"):
        return "the file starts with a byte order mark: another program rewrote it, fetch it again as binary"
    if line.startswith(b"SQLite format 3"):
        return "the file is a SQLite database, not an export of one; open it as a store"
    return f"it is not the first line of an export but {line[:40]!r}"
