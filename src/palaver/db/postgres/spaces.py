"""Spaces: one schema each, with names that we make, and one table that says whose they are.

A space is made and migrated in one transaction, under the lock of its row in that table: if the process is killed, the
space is as it was; and of sixteen processes that open it for the first time at once, one makes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import psycopg
from psycopg import errors as pg

from ...base.clock import now_ms
from ...errors import BadValue, NotAStore, Refused, SchemaMismatch, SchemaTooNew
from .. import schema
from ..engine import Row
from ..migrate import VERSION, takes_us
from . import dialect, sharing
from .nodes import HAS_CITUS

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?")
_DIRECTORY = (
    "CREATE SCHEMA IF NOT EXISTS palaver",
    """CREATE TABLE IF NOT EXISTS palaver.spaces (
        name TEXT COLLATE "C" PRIMARY KEY, schema_name TEXT NOT NULL UNIQUE, version BIGINT NOT NULL,
        created_at BIGINT NOT NULL
    )""",
)
_WRITERS = "SELECT value FROM {}settings WHERE name = 'writers_from'"
WRITERS_FROM = _WRITERS.format("")  # in the space that a transaction is in
_SEEN = f"SELECT to_regclass('palaver.spaces') IS NOT NULL, {HAS_CITUS}"
_ORPHANS = "SELECT nspname FROM pg_namespace WHERE nspname ~ '^palaver_[0-9a-f]{12}$' ORDER BY nspname LIMIT 1"
_WORDS = "document_words"  # which SQLite has in another form
_OWN = ("owners", "row_numbers", "stepped_sessions")  # who writes in a space, and the numbers that it hands out
_AT_ONCE = (pg.UniqueViolation, pg.DuplicateSchema, pg.DuplicateTable, pg.DeadlockDetected)
_T = TypeVar("_T")

Connection = psycopg.Connection[Row]


class Space(NamedTuple):
    name: str
    schema: str
    version: int
    created_at: int


def check_name(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadValue(f"{name!r:.60} is no name for a space: up to 40 of a-z, 0-9, _ and -, no _ or - at its ends")
    return name


def open_space(connection: Connection, where: str, name: str, *, create: bool) -> str:
    """Its schema, at the current version."""
    check_name(name)
    found = find(connection, name)
    if found is None and not create:
        raise NotAStore(f"{where}: there is no such space; open it with create=True, or list what there is")
    if found is None or found.version < VERSION:
        found = bring_up(connection, where, name)
    refuse_newer(connection, where, found)
    return found.schema


def find_space(connection: Connection, where: str, name: str) -> str:
    """Its schema, as it is: for a store that is only read."""
    found = find(connection, check_name(name))
    if found is None:
        raise NotAStore(f"{where}: there is no such space; with readonly=True none is made")
    refuse_newer(connection, where, found)
    if found.version < VERSION:
        raise SchemaMismatch(
            f"{where} is at version {found.version}, and this Palaver reads {VERSION}; bring it up first "
            "(`palaver space migrate`, or open it once without readonly=True)"
        )
    return found.schema


def find(connection: Connection, name: str) -> Space | None:
    try:
        row = connection.execute(
            "SELECT name, schema_name, version, created_at FROM palaver.spaces WHERE name = %s", (name,)
        ).fetchone()
    except (pg.UndefinedTable, pg.InvalidSchemaName):
        return None
    return Space(*row) if row else None


def every(connection: Connection) -> list[Space]:
    try:
        rows = connection.execute(
            "SELECT name, schema_name, version, created_at FROM palaver.spaces ORDER BY name"
        ).fetchall()
    except (pg.UndefinedTable, pg.InvalidSchemaName):
        return []
    return [Space(*row) for row in rows]


def bring_up(connection: Connection, where: str, name: str) -> Space:
    """Make a space that is not there; bring an older one to the current version."""
    _patiently(lambda: _make_directory(connection, where))
    return _patiently(lambda: _bring_up(connection, where, name))


def _patiently(work: Callable[[], _T]) -> _T:
    """Retry: other processes do the same at the same time, and what they committed is there at the next try."""
    for _ in range(20):
        try:
            return work()
        except _AT_ONCE:
            pass
    return work()


def _make_directory(connection: Connection, where: str) -> None:
    """Unless it is there. On Citus every node holds it: a node that is away closes only the spaces on it."""
    has_table, has_citus = _seen(connection)
    if not has_table:
        with connection.transaction():
            _refuse_lost_directory(connection, where)
            for statement in (sharing.NOT_SHARDED, *_DIRECTORY, sharing.EVERYWHERE) if has_citus else _DIRECTORY:
                connection.execute(statement)
    elif has_citus:
        sharing.share(connection)


def share_directory(connection: Connection) -> None:
    """On Citus: share a directory that was made when only one node held it."""
    if _seen(connection) == (True, True):
        sharing.share(connection)


def _seen(connection: Connection) -> tuple[bool, bool]:
    """Whether there is a directory, and whether there is Citus."""
    row = connection.execute(_SEEN.encode()).fetchone()
    assert row is not None
    has_table, has_citus = row
    return has_table, has_citus


def _refuse_lost_directory(connection: Connection, where: str) -> None:
    """Without its row a space would be taken for a new, empty one."""
    for (schema_name,) in connection.execute(_ORPHANS).fetchall():
        raise SchemaMismatch(
            f"{where}: the table palaver.spaces is gone, but the space in schema {schema_name} is there; "
            "restore the table"
        )


def _bring_up(connection: Connection, where: str, name: str) -> Space:
    with connection.transaction():
        connection.execute(
            "INSERT INTO palaver.spaces (name, schema_name, version, created_at) VALUES (%s, %s, 0, %s)"
            " ON CONFLICT (name) DO NOTHING",
            (name, f"palaver_{os.urandom(6).hex()}", now_ms()),
        )
        row = connection.execute(
            "SELECT name, schema_name, version, created_at FROM palaver.spaces WHERE name = %s FOR UPDATE", (name,)
        ).fetchone()
        assert row is not None
        space = Space(*row)
        refuse_newer(connection, where, space)
        if space.version >= VERSION:
            return space
        _migrate(connection, where, space)
        connection.execute("UPDATE palaver.spaces SET version = %s WHERE name = %s", (VERSION, name))
    return space._replace(version=VERSION)


def _migrate(connection: Connection, where: str, space: Space) -> None:
    files = schema.migrations()
    if space.version == 0:
        connection.execute(f'CREATE SCHEMA "{space.schema}"')
        texts = [schema.text("postgres")]
    else:
        texts = [text for _, text in files[space.version :]]
    connection.execute("SELECT set_config('search_path', %s, true)", (f'"{space.schema}"',))
    try:
        with connection.pipeline():
            for text in texts:
                for statement in dialect.schema(text):
                    connection.execute(statement)
    except (pg.DuplicateTable, pg.UndefinedTable, pg.DuplicateColumn) as error:
        raise SchemaMismatch(f"{where} cannot be migrated: {str(error).splitlines()[0]}") from None
    for file, _ in files[space.version :]:
        number, _, title = file.partition("_")
        connection.execute("INSERT INTO schema_migrations VALUES (%s, %s, %s)", (int(number), title, now_ms()))


def refuse_newer(connection: Connection, where: str, space: Space) -> None:
    """Unless it says that programs of this version may go on beside newer ones."""
    if space.version > VERSION and not takes_us(space.version, _writers_from(connection, space.schema)):
        raise SchemaTooNew(where, space.version, VERSION)


def _writers_from(connection: Connection, schema_name: str) -> object:
    try:
        found = connection.execute(_WRITERS.format(f'"{schema_name}".').encode()).fetchall()
    except pg.UndefinedTable:  # a version that keeps its settings elsewhere is one that we know nothing of
        return None
    return next((value for (value,) in found), None)


def refuse_version(where: str, version: int, said: object) -> None:
    """What a write finds under itself: an older version, or a newer one that does not take it."""
    if version < VERSION:
        raise SchemaMismatch(f"{where} is at version {version}, not {VERSION}; open it again")
    if version > VERSION and not takes_us(version, said):
        raise SchemaTooNew(where, version, VERSION)


def drop(connection: Connection, name: str) -> None:
    """Everything in it is gone."""
    with connection.transaction():
        row = connection.execute(
            "SELECT schema_name FROM palaver.spaces WHERE name = %s FOR UPDATE", (name,)
        ).fetchone()
        if row is None:
            raise NotAStore(f"there is no space {name}")
        (schema_name,) = row
        connection.execute(f'DROP SCHEMA "{schema_name}" CASCADE')
        connection.execute("DELETE FROM palaver.spaces WHERE name = %s", (name,))


def copy(connection: Connection, where: str, source: str, target: str) -> Space:
    """A new space with the same rows, as they are at one moment."""
    check_name(target)
    if find(connection, target) is not None:
        raise Refused(f"the space {target} is there already; drop it first, or take another name")
    found = find(connection, source)
    if found is None:
        raise NotAStore(f"there is no space {source}")
    found = bring_up(connection, where, source)
    if found.version > VERSION:  # it may hold what we know nothing of
        raise SchemaTooNew(f"{where}: the space {source}", found.version, VERSION)
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        made = Space(target, f"palaver_{os.urandom(6).hex()}", VERSION, now_ms())
        connection.execute("INSERT INTO palaver.spaces VALUES (%s, %s, %s, %s)", tuple(made))
        connection.execute(f'CREATE SCHEMA "{made.schema}"')
        connection.execute("SELECT set_config('search_path', %s, true)", (f'"{made.schema}"',))
        with connection.pipeline():
            for statement in dialect.schema(schema.text("postgres")):
                connection.execute(statement)
        for table in schema.current().tables.values():
            if table.name not in _OWN:
                connection.execute(_copying(table, found.schema).encode())
        connection.execute(f'INSERT INTO {_WORDS} SELECT number, slice, words FROM "{found.schema}".{_WORDS}'.encode())
    return made


def _copying(table: schema.Table, source: str) -> str:
    """By name: a migration adds columns at the end, schema.sql has them where they belong."""
    columns = ", ".join(column.quoted for column in table.columns)
    return f'INSERT INTO {table.name} ({columns}) SELECT {columns} FROM "{source}".{table.name}'
