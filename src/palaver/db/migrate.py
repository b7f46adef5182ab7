"""Bringing a file to the current schema: a new one, an older one, or one that another program made.

A new file gets schema.sql; an older one gets the migrations that it lacks, in order. Each is one transaction, and its
version is recorded in the same one: killed anywhere, the next open goes on from there. A foreign contract database
keeps its tables as they are: columns of the contract that it lacks are added with their defaults, indexes that it lacks
are created, columns that it has beyond the contract are left alone.
"""

from __future__ import annotations

import re

import apsw

from ..base.clock import now_ms
from ..errors import NotAStore, SchemaMismatch, SchemaTooNew
from .queries import migrations, schema, statements
from .sqlite.intruders import CONTRACT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERSION = 4

_CREATE = re.compile(r"CREATE (TABLE|INDEX|VIEW) (\w+)(?: ON (\w+) \(([^)]*)\)(.*))?", re.DOTALL)
_COLUMN = re.compile(r"^\s+(\"?\w+\"?)\s+((?:TEXT|INTEGER|REAL|BLOB).*?),?$")
_STAND_IN = {"TEXT": "''", "INTEGER": "0", "REAL": "0", "BLOB": "x''"}


def is_current(connection: apsw.Connection, path: str) -> bool:
    version = version_of(connection)
    if version > VERSION:
        raise SchemaTooNew(path, version, VERSION)
    return version == VERSION


def version_of(connection: apsw.Connection) -> int:
    """0: no schema of ours yet."""
    try:
        rows = connection.execute("SELECT max(version) FROM schema_migrations").fetchall()
    except apsw.SQLError as error:
        if "no such table" in str(error):
            return 0
        raise SchemaMismatch(
            "the table schema_migrations belongs to another program; keep Palaver in a file of its own"
        ) from None
    return int(rows[0][0] or 0)


def migrate(connection: apsw.Connection, path: str) -> None:
    while not is_current(connection, path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            _step(connection, path)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _step(connection: apsw.Connection, path: str) -> None:
    """One migration: all of schema.sql for a file without ours, else the next one after its version."""
    if is_current(connection, path):  # somebody else was faster
        return
    version, files = version_of(connection), migrations()
    if version == 0:
        _create_missing(connection)
        steps = files
    else:
        steps = files[version : version + 1]
        for statement in statements(steps[0][1]):
            connection.execute(statement)
    for name, _ in steps:
        number, _, title = name.partition("_")
        connection.execute("INSERT INTO schema_migrations VALUES (?, ?, ?)", (int(number), title, now_ms()))


def refuse_strangers(connection: apsw.Connection, path: str) -> None:
    """A database that holds neither our schema nor the contract's tables is somebody else's."""
    if not all(_exists(connection, table) for table in CONTRACT):
        raise NotAStore(f"{path} is a database, but not a store: it has no {CONTRACT[0]} table; nothing was changed")


def refuse_misfits(connection: apsw.Connection) -> None:
    """Before anything is made: tables of our names that another program shaped."""
    for statement in statements(schema()):
        kind, name, *_ = _parsed(statement)
        if kind != "INDEX" and _exists(connection, name):
            _compare(connection, kind, name, statement)


def _create_missing(connection: apsw.Connection) -> None:
    for statement in statements(schema()):
        kind, name, table, columns, tail = _parsed(statement)
        if kind == "INDEX":
            if not _has_index(connection, table, columns, "WHERE" in tail):
                connection.execute(statement)
        elif not _exists(connection, name):
            connection.execute(statement)
        else:
            _compare(connection, kind, name, statement)
            if name in CONTRACT:
                _add_columns(connection, name, statement)


def _parsed(statement: str) -> Sequence[str]:
    """What it creates: a kind and a name; of an index also the table, the columns and the rest."""
    match = _CREATE.match(statement)
    assert match, statement
    return match.groups()


def _compare(connection: apsw.Connection, kind: str, name: str, statement: str) -> None:
    if kind == "VIEW":
        _compare_view(connection, name, statement)
    elif name in CONTRACT:
        _compare_contract(connection, name, statement)
    else:
        _compare_columns(connection, name, statement)


def _exists(connection: apsw.Connection, table: str) -> bool:
    return bool(
        connection.execute(
            "SELECT 1 FROM sqlite_schema WHERE type IN ('table','view') AND name = ?", (table,)
        ).fetchall()
    )


def _has_index(connection: apsw.Connection, table: str, columns: str, partial: bool) -> bool:
    wanted = [c.strip().strip('"') for c in columns.split(",")]
    for _, name, _, _, is_partial in connection.execute(f'PRAGMA index_list("{table}")').fetchall():
        found = [row[2] for row in connection.execute(f'PRAGMA index_info("{name}")').fetchall()]
        if found == wanted and bool(is_partial) == partial:
            return True
    return False


def _columns_of(connection: apsw.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in connection.execute(f'PRAGMA table_info("{table}")').fetchall()}


def _compare_contract(connection: apsw.Connection, table: str, statement: str) -> None:
    for name, definition in _lacking(connection, table, statement):
        if "PRIMARY KEY" in definition or "REFERENCES" in definition:
            raise SchemaMismatch(f"{table} has no column {name}; this is not a contract database")


def _lacking(connection: apsw.Connection, table: str, statement: str) -> list[tuple[str, str]]:
    present = _columns_of(connection, table)
    return [(name, definition) for name, definition in _declared(statement) if name.strip('"') not in present]


def _add_columns(connection: apsw.Connection, table: str, statement: str) -> None:
    for name, definition in _lacking(connection, table, statement):
        if "NOT NULL" in definition and "DEFAULT" not in definition:
            definition += f" DEFAULT {_stand_in(name, definition)}"
        connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {definition}")


def _stand_in(name: str, definition: str) -> str:
    return "'{}'" if name.endswith("_json") else _STAND_IN[definition.split()[0]]


def _compare_columns(connection: apsw.Connection, table: str, statement: str) -> None:
    missing = {name for name, _ in _declared(statement)} - _columns_of(connection, table)
    if missing:
        raise SchemaMismatch(
            f"the table {table} belongs to another program (no column {sorted(missing)[0]}); "
            "keep Palaver in a file of its own"
        )


def _compare_view(connection: apsw.Connection, name: str, statement: str) -> None:
    rows = connection.execute("SELECT type, sql FROM sqlite_schema WHERE name = ?", (name,)).fetchall()
    if [(kind, " ".join(str(sql).split())) for kind, sql in rows] != [("view", " ".join(statement.split()))]:
        raise SchemaMismatch(f"{name} belongs to another program; keep Palaver in a file of its own")


def _declared(statement: str) -> Iterator[tuple[str, str]]:
    for line in statement.splitlines():
        match = _COLUMN.match(line)
        if match:
            yield match[1], match[2].strip()
