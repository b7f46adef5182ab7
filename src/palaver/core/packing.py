"""Bytes that are kept smaller where that helps: zstd, else as they are. `codec` says which, beside them."""

from __future__ import annotations

from typing import Any

from ..errors import BadValue

_LARGE = 256  # bytes from which on they may get smaller
_ZSTD = "zstd"


def packed(body: bytes) -> tuple[bytes, str | None]:
    """As they are kept, and their codec."""
    if len(body) < _LARGE:
        return body, None
    import zstandard

    smaller = zstandard.compress(body, 3)
    return (smaller, _ZSTD) if len(smaller) < len(body) else (body, None)


def unpacked(body: Any, codec: Any) -> bytes | None:
    """As they were given; None where they were erased. A column of SQLite may hold anything."""
    if body is None:
        return None
    if type(body) is not bytes:
        raise BadValue("an item is kept as something else than bytes: another program changed it")
    if codec is None:
        return body
    if codec != _ZSTD:
        raise BadValue(f"an item is kept as {codec!r:.40}, which this version cannot read")
    import zstandard

    try:
        return zstandard.decompress(body)
    except (zstandard.ZstdError, MemoryError):
        raise BadValue("an item cannot be unpacked: another program changed it") from None
