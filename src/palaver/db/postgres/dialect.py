"""What Postgres spells differently. Everything else is the one text that both engines share.

Parameters become `$1, $2 …`; types of the schema get their Postgres names, and text sorts by its bytes, as on SQLite. A
statement that changes a head, or says that it locks one, comes with the lock of that head before it: under READ
COMMITTED it then sees everything that was committed while it waited.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..queries import ONLY_TEXT, Q, Query, of_engine
from ..schema import statements

_PARAM = re.compile(r"'[^']*'|(?<!:):(?P<name>[a-z_]+)")
TYPES = {"TEXT": 'TEXT COLLATE "C"', "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA"}
_TYPE = re.compile(rf"\b(?:{'|'.join(TYPES)})\b")


class Statement(NamedTuple):
    text: str
    locks: int | None = None  # the place of the session whose head is locked first
    is_free: bool = False  # how to come by its rows is the server's choice


class Dialect:
    """The statements of one process, each translated once."""

    def __init__(self) -> None:
        self._known: dict[str, Statement] = {}

    def __call__(self, query: Query) -> Statement:
        found = self._known.get(query.name)
        if found is None:
            found = self._known[query.name] = translate(query)
        return found


def translate(query: Query) -> Statement:
    text = of_engine("postgres", query.body) or "of SQLite alone"
    text = ONLY_TEXT.sub(r"\1", text).replace("group_concat(", "string_agg(").replace(" AS INTEGER)", " AS BIGINT)")
    numbers = {name: f"${place}" for place, name in enumerate(query.names, 1)}
    text = _PARAM.sub(lambda found: numbers[found["name"]] if found["name"] else found[0], text)
    takes_head = "-- postgres locks: session" in query.body or (
        text.startswith("UPDATE heads") and "session" in query.names
    )
    return Statement(text, query.names.index("session") if takes_head else None, "-- plan: free" in query.body)


LOCK = translate(Q.lock_head).text


def append_chunks(schema_name: str, *, parts: bool = False) -> str:
    """`append_chunk` for many streams, with the rows of `parts` that are due, in the space that has this schema."""
    query = Q.append_chunks_and_parts if parts else Q.append_chunks
    return translate(query).text.replace("{space}", schema_name)


def schema(text: str) -> list[str]:
    """The statements of a schema or migration file, one by one."""
    return [_retyped(statement) for statement in statements(text, "postgres")]


def _retyped(statement: str) -> str:
    return _TYPE.sub(lambda found: TYPES[found[0]], statement).replace(") WITHOUT ROWID", ")")
