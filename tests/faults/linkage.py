"""Where a loaded library keeps the address of a function that it imports (ELF, 64 bits: Linux).

SQLite lets a test exchange most of its system calls, but not its syncs: those go straight to the C library. The slot
through which they go is named in the library's own dynamic section.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

_LOAD, _DYNAMIC = 1, 2  # program headers
_SIZE_JUMPS, _STRINGS, _SYMBOLS, _RELA, _SIZE_RELA, _JUMPS = 2, 5, 6, 7, 8, 23  # entries of the dynamic section


class Library:
    """A shared library that this process has loaded."""

    def __init__(self, path: str) -> None:
        self._path = str(Path(path).resolve())
        self._bytes = Path(path).read_bytes()
        assert self._bytes[:6] == b"\x7fELF\x02\x01", "not a 64-bit little-endian ELF file"
        start, size, count = *struct.unpack_from("<Q", self._bytes, 32), *struct.unpack_from("<HH", self._bytes, 54)
        headers = [struct.unpack_from("<IIQQQQ", self._bytes, start + size * n) for n in range(count)]
        self._loads = [(at, offset, length) for kind, _, offset, at, _, length in headers if kind == _LOAD]
        self._dynamic = dict(next(self._pairs(h[2], h[5]) for h in headers if h[0] == _DYNAMIC))

    def slots(self, function: str) -> list[int]:
        """Addresses, in this process, of the pointers to an imported function."""
        base, found = self._base(), self._dynamic
        tables = [(found.get(_JUMPS), found.get(_SIZE_JUMPS)), (found.get(_RELA), found.get(_SIZE_RELA))]
        return [
            base + place
            for start, size in tables
            for place, symbol in self._relocations(start or 0, size or 0)
            if symbol and self._name(symbol) == function.encode()
        ]

    def _pairs(self, offset: int, size: int) -> Iterator[tuple[int, int]]:
        return struct.iter_unpack("<QQ", self._bytes[offset : offset + size])  # type: ignore[return-value]

    def _relocations(self, start: int, size: int) -> Iterator[tuple[int, int]]:
        at = self._in_file(start) if size else 0
        for place, info, _ in struct.iter_unpack("<QQq", self._bytes[at : at + size]):
            yield place, info >> 32

    def _name(self, symbol: int) -> bytes:
        (at,) = struct.unpack_from("<I", self._bytes, self._in_file(self._dynamic[_SYMBOLS]) + 24 * symbol)
        start = self._in_file(self._dynamic[_STRINGS]) + at
        return self._bytes[start : self._bytes.index(b"\0", start)]

    def _in_file(self, address: int) -> int:
        return next(address - at + offset for at, offset, length in self._loads if at <= address < at + length)

    def _base(self) -> int:
        lines = Path("/proc/self/maps").read_text().splitlines()
        return min(int(line.partition("-")[0], 16) for line in lines if line.endswith(self._path))


def point_at(slot: int, function: int) -> None:
    """Let a slot hold another address."""
    page = slot & -mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    ctypes.c_void_p.from_address(slot).value = function
