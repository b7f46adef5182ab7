"""The tables of an export: which columns a line has, what each may hold, and where an import puts it.

The columns are those of the schema, in its order. What one may hold follows from its type and its name. Kinds: text,
int, count (a number that goes up: 0 to 2⁵³), real, json (any JSON text), object (JSON text of an object), salt (16
bytes) and hash (32 bytes), both as hex, bytes (any, as base64), null (always null).

What follows from other rows is no part of an export: an import works it out again. A version of the format may add
tables and columns, and takes none away; so one description serves them all, and says what came when.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from ..base import exact_json
from ..core import damage, packing
from ..core.facts import COLUMNS
from ..db import schema
from ..db.engine import Row
from ..db.queries import Q, Query
from ..errors import BadValue
from ..model import MOST

VERSION = 3  # of the format: what is written; every one before is read, too

_encode = msgspec.json.encode
_raw = msgspec.json.Decoder(msgspec.Raw).decode
_HEX = {"salt": re.compile("[0-9a-f]{32}"), "hash": re.compile("[0-9a-f]{64}")}
_INT64 = 2**63
_SAID: dict[str, Callable[[bytes], str]] = {
    "salt": bytes.hex,
    "hash": bytes.hex,
    "bytes": lambda value: b64encode(value).decode(),
}
_KINDS = {"TEXT": "text", "INTEGER": "int", "REAL": "real", "BLOB": "hash"}
_OBJECTS = ("metadata_json", "data_json", "facts_json")


class Column(NamedTuple):
    name: str
    kind: str
    null: bool


class Shape(NamedTuple):
    """A table in one version of the format."""

    columns: list[Column]
    keys: list[str]  # of a line


class Table:
    """One table. `kinds` are those of columns whose type and name do not say it, `without` what means nothing
    elsewhere; the table is there from version `since` on, its columns `later` from version 2. `packed`: the store
    keeps its `body` packed, which is nobody else's business."""

    def __init__(
        self,
        name: str,
        put: Query,
        home: str | None = None,
        *,
        counts: str = "",
        kinds: dict[str, str] | None = None,
        without: Collection[str] = (),
        since: int = 1,
        later: Collection[str] = (),
        packed: bool = False,
    ) -> None:
        self.name = name
        self.put = put
        self.home = home  # the column that must name the group's session
        self._is_packed = packed
        known = dict.fromkeys(counts.split(), "count") | (kinds or {})
        self.columns = [
            _column(c, known.get(c.name)) for c in schema.current().tables[name].columns if c.name not in without
        ]
        self.names = [column.name for column in self.columns]
        self.since = since
        whole = _shape(self.columns)
        self._shapes = {1: _shape(c for c in self.columns if c.name not in later), 2: whole, 3: whole}
        self._not_plain = [column for column in self.columns if column.kind in ("real", "bytes", *_HEX)]

    def line(self, row: Row, version: int = VERSION) -> bytes:
        """A stored row as a line of the file, of which an older one does not know the last columns."""
        columns, keys = self._shapes[version]
        values = [
            _SAID[column.kind](v) if type(v) is bytes and column.kind in _SAID else v
            for v, column in zip(row[: len(columns)] if version < VERSION else row, columns, strict=True)
        ]
        for value, column in zip(values, columns, strict=True):
            if type(value) is bytes or (type(value) is float and not math.isfinite(value)):
                raise self._unsaid(row, column, f"holds {value!r:.40}, which JSON cannot say")
            if column.kind in ("json", "object") and type(value) is str:
                self._check_json(row, column, value)
        try:
            return _encode(dict(zip(keys, (self.name, *values), strict=True))) + b"\n"
        except UnicodeEncodeError:
            raise self._unsaid(row, self.columns[0], "or another column is a text that is not UTF-8") from None

    def names_in(self, version: int) -> list[str]:
        """Its columns in a version of the format."""
        return [column.name for column in self._shapes[version].columns]

    def given(self, row: dict[str, Any], session_id: str) -> dict[str, Any]:
        """What `put` takes of a row of this session's group."""
        if not self._is_packed or row["body"] is None:
            return {**row, "group": session_id, "codec": None}
        body, codec = packing.packed(row["body"])
        return {**row, "group": session_id, "body": body, "codec": codec}

    def value(self, *names: str) -> Callable[[Row], Any]:
        """What takes this column out of a stored row; of several, a tuple."""
        return itemgetter(*(self.names.index(name) for name in names))

    def _check_json(self, row: Row, column: Column, value: str) -> None:
        """What is no JSON would be refused by every import: better told now. Without a copy of what is large."""
        try:
            _raw(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            if damage.parsed(value) is None and value.strip() != "null":
                raise self._unsaid(row, column, "is no JSON, and no import would take it") from None

    def _unsaid(self, row: Row, column: Column, what: str) -> BadValue:
        first, *_ = row
        where = f"{column.name} of {self.name} {damage.as_text(first)}"
        return BadValue(f"{where} {what}; `palaver verify` names such rows, `palaver show` still reads the session")

    def row(self, fields: dict[str, Any], version: int = VERSION) -> dict[str, Any]:
        """The columns of a line, checked and as the store keeps them; those that its version does not know are NULL."""
        columns, keys = self._shapes[version]
        if len(fields) != len(keys) or any(key not in fields for key in keys):
            raise BadValue(self._not_these(fields, keys))
        row: dict[str, Any] = {column.name: _stored(column, fields[column.name]) for column in columns}
        return row if len(columns) == len(self.columns) else {**dict.fromkeys(self.names), **row}

    def known_row(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The columns of a line that was checked before."""
        row = {name: fields.get(name) for name in self.names}
        for column in self._not_plain:
            if row[column.name] is not None:
                row[column.name] = _CHECKS[column.kind](column, row[column.name])
        return row

    def _not_these(self, fields: dict[str, Any], keys: list[str]) -> str:
        missing = [name for name in keys if name not in fields]
        unknown = [name for name in fields if name not in keys]
        if missing:
            return f"{self.name} has a column {missing[0]}, this line has not"
        return f"{self.name} has no column {unknown[0]!r:.60}"


def _shape(columns: Iterable[Column]) -> Shape:
    listed = list(columns)
    return Shape(listed, ["table", *(column.name for column in listed)])


def _column(column: schema.Column, known: str | None) -> Column:
    kind = known or _kind_of(column)
    return Column(column.name, kind, not (column.is_required or column.is_key or kind == "null"))


def _kind_of(column: schema.Column) -> str:
    if column.name.endswith("_json"):
        return "object" if column.name in _OBJECTS else "json"
    return "salt" if column.name == "salt" else _KINDS[column.type]


def _stored(column: Column, value: Any) -> Any:
    if value is None and (column.null or column.kind == "null"):
        return None
    return _CHECKS[column.kind](column, value)


def _wrong(column: Column, what: str) -> BadValue:
    return BadValue(f"column {column.name} {what}")


def _text(column: Column, value: Any) -> str:
    if type(value) is not str:
        raise _wrong(column, f"is text, not {_named(value)}")
    if "\0" in value:
        raise _wrong(column, "holds a NUL")
    return value


def _int(column: Column, value: Any) -> int:
    if type(value) is not int:
        raise _wrong(column, f"is a whole number, not {_named(value)}")
    if not -_INT64 <= value < _INT64:
        raise _wrong(column, "does not fit 64 bits")
    return value


def _count(column: Column, value: Any) -> int:
    number = _int(column, value)
    if not 0 <= number <= MOST:
        raise _wrong(column, "is a number that nothing can have counted to")
    return number


def _real(column: Column, value: Any) -> float:
    if type(value) not in (int, float) or abs(value) > 1e300:
        raise _wrong(column, f"is a number, not {_named(value)}")
    return float(value)


def _json(column: Column, value: Any) -> str:
    text = _text(column, value)
    try:
        exact_json.parse(text)
    except BadValue as error:
        raise _wrong(column, f"is not JSON that can be kept: {error}") from None
    return text


def _object(column: Column, value: Any) -> str:
    text = _json(column, value)
    if not text.lstrip(" \t\r\n").startswith("{"):
        raise _wrong(column, "is not a JSON object")
    return text


def _hex(column: Column, value: Any) -> bytes:
    if type(value) is not str or not _HEX[column.kind].fullmatch(value):
        raise _wrong(column, f"is {32 if column.kind == 'salt' else 64} lower-case hex digits")
    return bytes.fromhex(value)


def _bytes(column: Column, value: Any) -> bytes:
    try:
        found = b64decode(value, validate=True) if type(value) is str else None
    except ValueError:
        found = None
    if found is None or b64encode(found).decode() != value:  # there is one way to write them
        raise _wrong(column, "is bytes as base64")
    return found


def _null(column: Column, value: Any) -> None:
    raise _wrong(column, f"is null in an export, not {_named(value)}")


def _named(value: Any) -> str:
    return {str: "text", bool: "true or false", type(None): "null"}.get(type(value), f"{value!r:.40}")


_CHECKS: dict[str, Callable[[Column, Any], Any]] = {
    "text": _text,
    "int": _int,
    "count": _count,
    "real": _real,
    "json": _json,
    "object": _object,
    "salt": _hex,
    "hash": _hex,
    "bytes": _bytes,
    "null": _null,
}

SESSIONS = Table("chat_sessions", Q.import_session, "id")
HEADS = Table(
    "heads",
    Q.import_head,
    "session_id",
    counts="revision event_seq events_floor last_at looked_at deleted_at ended_at last_message_at",
    later=("ended_at", "end_reason", "last_message_at"),
)
REFLOG = Table("reflog", Q.import_line, "session_id", counts="seq revision ref_seq")
TURNS = Table(
    "turns",
    Q.import_turn,
    "session_id",
    counts="begin_seq fence depth thread_tokens thread_messages input_tokens output_tokens reasoning_tokens cache_read "
    "cache_write usage_told",
    kinds={"owner": "null"},
    without=("live", "jump", "thread_results", "thread_calls", "stray_seq", "unindexed", *COLUMNS),
)
ENTRIES = Table("turn_entries", Q.import_entry, counts="seq")
MESSAGES = Table("chat_messages", Q.import_message, "session_id")
PARTS = Table("chat_parts", Q.import_part, "session_id")
EVENTS = Table("events", Q.import_event, "session_id", counts="seq turn", kinds={"data": "json"})
COPIES = Table("copies", Q.import_copy, "session_id")
ALIASES = Table("aliases", Q.import_alias, "session_id")
FOREIGN_IDS = Table("foreign_ids", Q.import_foreign_id)
QUEUE = Table("queue", Q.import_queued, "session_id", counts="claims")
DELIVERIES = Table("deliveries", Q.import_delivery, "session_id")
PRUNED = Table("pruned", Q.import_pruned, "session_id")
FACTS = Table("session_facts", Q.import_fact, "session_id", since=2)
USAGE = Table("usage", Q.import_usage, "session_id", counts="n input output reasoning cache_read cache_write", since=2)
NATIVES = Table(
    "natives",
    Q.import_native,
    "session_id",
    counts="seq",
    kinds={"body": "bytes"},
    without=("codec",),
    since=3,
    packed=True,
)
PROMPTS = Table("system_prompts", Q.import_prompt)
BODIES = Table("bodies", Q.import_body, kinds={"body": "json"}, since=2)

IN_ORDER = [
    SESSIONS, HEADS, REFLOG, TURNS, ENTRIES, MESSAGES, PARTS, EVENTS, COPIES, ALIASES, FOREIGN_IDS,
    QUEUE, DELIVERIES, PRUNED, FACTS, USAGE, NATIVES, PROMPTS, BODIES,
]  # fmt: skip
BY_NAME = {table.name: table for table in IN_ORDER}
RANK = {table.name: place for place, table in enumerate(IN_ORDER)}
