"""What Postgres spells differently. Everything else is the one text that both engines share.

Parameters become `$1, $2 …`; types of the schema get their Postgres names, and text sorts by its bytes, as on SQLite. A
line `-- postgres: …` in a statement is for this engine alone. A statement that changes a head, or says that it locks
one, comes with the lock of that head before it: under READ COMMITTED it then sees everything that was committed while
it waited.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..queries import ONLY_TEXT, Query
from ..schema import statements

_PARAM = re.compile(r"'[^']*'|(?<!:):([a-z_]+)")
_OURS = re.compile(r"-- postgres: ([^\n]*)")
_COMMENT = re.compile(r"--[^\n]*")
TYPES = {"TEXT": "TEXT", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA"}
_TYPE = re.compile(rf"\b({'|'.join(TYPES)})\b")
LOCK = (
    "SELECT EXISTS (SELECT 1 FROM chat_messages m WHERE m.session_id = h.session_id AND m.created_at > h.last_at)"
    " FROM heads h WHERE h.session_id = $1 FOR UPDATE"
)  # and whether a row is there that is younger than any of ours: then another program wrote it

# `append_chunk` for the chunks of many streams at once; it says which of them were taken. The names carry their schema,
# so that on a connection of our own it is a transaction by itself.
_CHUNKS = """
INSERT INTO {schema}.events (session_id, seq, kind, turn, data, at)
SELECT r.session_id, r.seq, 'chunk', t.begin_seq, r.data, r.at
  FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::bigint[])
       AS r (session_id, seq, data, at, turn, fence)
  JOIN {schema}.turns t ON t.id = r.turn JOIN {schema}.heads h ON h.session_id = r.session_id
 WHERE t.sealed_at IS NULL AND t.fence = r.fence AND r.seq > h.event_seq
   FOR SHARE OF h
ON CONFLICT (session_id, seq) DO NOTHING RETURNING session_id, seq
"""
# The same, and the rows of parts that are due: each only if its chunk is taken, whose session is then ours to the end.
_CHUNKS_AND_PARTS = """
WITH taken AS ({chunks}), saved AS (
    UPDATE {schema}.chat_parts p
       SET type = r.type, data_json = r.data, tool_call_id = r.call, tool_state = r.state,
           updated_at = greatest(p.updated_at, r.at)
      FROM unnest($7::text[], $8::bigint[], $9::text[], $10::text[],
                  $11::text[], $12::text[], $13::bigint[], $14::text[])
           AS r (session_id, seq, type, data, call, state, at, id)
      JOIN taken t ON t.session_id = r.session_id AND t.seq = r.seq
     WHERE p.id = r.id)
SELECT session_id, seq FROM taken
"""


class Statement(NamedTuple):
    text: str
    locks: int | None = None  # the place of the session whose head is locked first


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
    text = " ".join(_COMMENT.sub("", _OURS.sub(r"\1", query.body)).split()).rstrip("; ")
    text = ONLY_TEXT.sub(r"\1", text).replace("group_concat(", "string_agg(").replace(" AS INTEGER)", " AS BIGINT)")
    numbers = {name: f"${place}" for place, name in enumerate(query.names, 1)}
    text = _PARAM.sub(lambda found: numbers[found[1]] if found[1] else found[0], text)
    takes_head = "-- postgres locks: session" in query.body or (
        text.startswith("UPDATE heads") and "session" in query.names
    )
    return Statement(text, query.names.index("session") if takes_head else None)


def append_chunks(schema_name: str, *, parts: bool = False) -> str:
    chunks = " ".join(_CHUNKS.format(schema=schema_name).split())
    return " ".join(_CHUNKS_AND_PARTS.format(schema=schema_name, chunks=chunks).split()) if parts else chunks


def schema(text: str) -> list[str]:
    """The statements of a schema or migration file, one by one."""
    return [_retyped(statement) for statement in statements(text)]


def _retyped(statement: str) -> str:
    """Text sorts by its bytes, whatever the database's language."""
    statement = _TYPE.sub(lambda found: TYPES[found[1]] + (' COLLATE "C"' if found[1] == "TEXT" else ""), statement)
    return statement.replace(") WITHOUT ROWID", ")")
