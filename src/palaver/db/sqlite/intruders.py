"""What another program may not have put into the database: a view or virtual table in the place of one of our tables,
or a trigger that is on, or writes to, a table of Palaver's own. A commit would succeed and store something else.

Triggers on the contract's tables are allowed, as long as they do not write to Palaver's own.
"""

from __future__ import annotations

import re

from ...errors import SchemaMismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

CONTRACT = ("chat_sessions", "chat_messages", "chat_parts")
VIEWS = ("session_rows",)
WORDS = "document_words"  # a virtual table of ours
_MADE = f"CREATE VIRTUAL TABLE {WORDS} USING fts5("
_SAID = re.compile(r"(?P<text>'(?:[^']|'')*')|--[^\n]*|/\*.*?\*/", re.DOTALL)  # a text, or a comment
_WRITES = re.compile(
    r"""\b(?:INSERT(?:\s+OR\s+\w+)?\s+INTO|REPLACE\s+INTO|UPDATE(?:\s+OR\s+\w+)?(?:\s+ONLY)?|DELETE\s+FROM(?:\s+ONLY)?
        |TRUNCATE(?:\s+TABLE)?)
        (?:\s+|(?=["'`\[]))(?:["'`\[]?\w+["'`\]]?\s*\.\s*)?["'`\[]?(\w+)""",
    re.IGNORECASE | re.VERBOSE,
)
_FOUND = (
    "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    " WHERE type IN ('view', 'trigger') OR (type = 'table' AND sql LIKE 'CREATE VIRTUAL %')"
)


def tables() -> set[str]:
    """The names of all our tables."""
    from .. import schema  # mostly nobody asks

    return set(schema.current().tables)


def refuse(connection: apsw.Connection, path: str) -> None:
    """Mostly a file has nothing of the kind but our own view."""
    found = connection.execute(_FOUND).fetchall()
    if all(_is_ours(str(kind), str(name), str(sql)) for kind, name, _, sql in found):
        return
    ours = tables() | {WORDS}
    for kind, name, table, sql in found:
        if kind == "trigger":
            refuse_trigger(path, str(name), str(table), str(sql), ours)
        elif name in ours and not _is_ours(str(kind), str(name), str(sql)):
            raise in_the_place(path, "a view" if kind == "view" else "a virtual table", str(name))


def _is_ours(kind: str, name: str, sql: str) -> bool:
    return name in VIEWS if kind == "view" else name == WORDS and sql.startswith(_MADE)


def _blank(found: re.Match[str]) -> str:
    """Comments go; a text stays, for SQLite takes it for a name where one belongs."""
    return found["text"] or " "


def ruled(path: str, rule: str, table: str) -> SchemaMismatch:
    return SchemaMismatch(f"{path} has a rule {rule} on {table}; drop the rule first (nothing was changed)")


def in_the_place(path: str, what: str, name: str) -> SchemaMismatch:
    return SchemaMismatch(f"{path} has {what} in the place of the table {name}; this is no store (nothing was changed)")


def refuse_trigger(path: str, name: str, table: str, body: str, ours: Iterable[str]) -> None:
    own = {each.lower() for each in ours} - set(CONTRACT)
    written = {each.lower() for each in _WRITES.findall(_SAID.sub(_blank, body))}
    if table.lower() in own:
        raise SchemaMismatch(f"{path} has a trigger {name} on {table}, {_OURS}")
    if written & own:
        raise SchemaMismatch(f"{path} has a trigger {name} that writes to {min(written & own)}, {_OURS}")


_OURS = "a table of Palaver's own; drop the trigger first (nothing was changed)"
