"""Rows with a text that is not UTF-8, as another program or a failing disk may leave it: the driver refuses them all.

The SELECT is run again with each text as bytes, and bytes that are not UTF-8 become half characters
(`surrogateescape`). Such a text is no JSON, so the code that parses it sees the damage; its bytes can be had back.
"""

from __future__ import annotations

import apsw

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..engine import Row


def rows(connection: apsw.Connection, text: str, values: Sequence[Any], error: UnicodeDecodeError) -> list[Row]:
    """What a SELECT gives. A statement that changes something is not run again: the error stays."""
    width = _width(connection, text)
    if width is None:
        raise error
    names = [f"c{place}" for place in range(width)]
    asked = ", ".join(f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END" for name in names)
    kinds = ", ".join(f"typeof({name})" for name in names)
    whole = f"WITH found ({', '.join(names)}) AS ({text.strip().rstrip(';')}) SELECT {kinds}, {asked} FROM found"
    return [
        tuple(_decoded(kind, value) for kind, value in zip(row[:width], row[width:], strict=True))
        for row in connection.execute(whole, values).fetchall()
    ]


def _width(connection: apsw.Connection, text: str) -> int | None:
    """How many columns it has, without running it; None: it does more than to read."""
    import apsw.ext

    info = apsw.ext.query_info(connection, text)
    return len(info.description) if info.is_readonly else None


def _decoded(kind: object, value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if kind == "text" else value
