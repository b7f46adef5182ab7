"""A session that arrives with texts too long for the indexes of the store it goes into: they are cut, and kept whole.

Only what was stored before there were limits can be so long. The cut texts are in the session's metadata, under
`cut_short`, by table and column; the same session cut again is the same, so that a second copy finds it there.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import msgspec

from ..base import exact_json
from ..core import damage, metadata
from ..errors import BadValue
from . import tables
from .lines import known_fields
from .tables import Table

KEY = "cut_short"
_NAMES = {tables.ALIASES.name: ("namespace", "name"), tables.FOREIGN_IDS.name: ("origin", "scope", "foreign_id")}
_NAMES |= {tables.QUEUE.name: ("id",), tables.DELIVERIES.name: ("source", "delivery_id"), tables.USAGE.name: ("key",)}
_TEXTS = {tables.SESSIONS.name: ("agent", "workspace_root")}

_IN_MEMORY = 4 << 20

_encode = msgspec.json.encode


def is_too_long(table: Table, row: dict[str, Any]) -> bool:
    return any(True for _ in _cuts(table, row))


def _cuts(table: Table, row: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Columns that an index cannot hold, and what they become."""
    if table is tables.HEADS and row["title"] is not None and not exact_json.fits_title(row["title"]):
        yield "title", _cut(row["title"][: exact_json.LONGEST_TITLE - 1], exact_json.LONGEST_KEY - 3) + "…"
    if table is tables.PARTS and _is_over(row["tool_call_id"], exact_json.LONGEST_KEY):
        yield "tool_call_id", None  # the part itself has it
    for column in _TEXTS.get(table.name, ()):
        if _is_over(row[column], exact_json.LONGEST_KEY):
            yield column, _cut(row[column], exact_json.LONGEST_KEY)
    for column in _NAMES.get(table.name, ()):
        if _is_over(row[column], exact_json.LONGEST_NAME):
            own = sha256(row[column].encode()).hexdigest()[:16]
            yield column, f"{_cut(row[column], exact_json.LONGEST_NAME - 17)}~{own}"


def _is_over(text: str | None, limit: int) -> bool:
    return text is not None and exact_json.size_of(text) > limit


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode("utf-8", "ignore")


def fit(spool: IO[bytes], version: int) -> list[str]:
    """Cut the lines of a group where that is needed; what was, in words."""
    whole: dict[str, list[str]] = {}
    for table, row in _rows(spool):
        for column, _ in _cuts(table, row):
            whole.setdefault(f"{table.name}.{column}", []).append(row[column])
    with SpooledTemporaryFile(max_size=_IN_MEMORY) as fitted:
        for table, row in _rows(spool):
            row.update(dict(_cuts(table, row)))
            if table is tables.SESSIONS:
                row["metadata_json"] = _with(row["metadata_json"], whole)
            fitted.write(table.line(tuple(row[name] for name in table.names), version))
        fitted.seek(0)
        spool.seek(0)
        spool.truncate()
        copyfileobj(fitted, spool)
    return [_said(where, texts) for where, texts in whole.items()]


def _with(text: str, whole: dict[str, list[str]]) -> str:
    """A session's metadata with what was cut; what an earlier copy had cut stays there."""
    value = damage.parsed(text)
    if not isinstance(value, dict):
        raise BadValue("the session has texts that must be cut, and metadata that is no object to keep them in")
    if KEY not in value:
        return metadata.splice(text, KEY, _encode(whole).decode())
    before = value[KEY] if isinstance(value[KEY], dict) else {}
    return exact_json.encode(value | {KEY: before | whole})


def _rows(spool: IO[bytes]) -> Iterator[tuple[Table, dict[str, Any]]]:
    spool.seek(0)
    for line in spool:
        fields = known_fields(line)
        table = tables.BY_NAME[fields["table"]]
        yield table, table.known_row(fields)


def _said(where: str, texts: list[str]) -> str:
    longest = max(exact_json.size_of(text) for text in texts)
    return f"{where} was cut, it had {longest:,} bytes; the whole is in the session's metadata, under {KEY}"
