"""Bringing a file to the current schema: a new one, an older one, or one that another program made.

A new file gets schema.sql; an older one gets the migrations that it lacks, in order. Each is one transaction, and its
version is recorded in the same one: killed anywhere, the next open goes on from there. A file that another program made
keeps its tables as they are (see shape.py).
"""

from __future__ import annotations

import apsw

from ..base.clock import now_ms
from ..errors import NotAStore, SchemaMismatch, SchemaTooNew
from .sqlite.intruders import CONTRACT

VERSION = 8


def is_current(connection: apsw.Connection, path: str) -> bool:
    """A newer file is current, too, where it says that programs of this version may go on writing beside newer ones."""
    version = version_of(connection)
    if version > VERSION and not takes_us(version, _said(connection)):
        raise SchemaTooNew(path, version, VERSION)
    return version >= VERSION


def takes_us(version: int, said: object) -> bool:
    """Whether a store of a newer version takes what a program of this one writes. A migration that only adds leaves in
    `settings`, as `writers_from`, the oldest version whose programs may go on; any other leaves its own, or nothing."""
    oldest = int(said) if isinstance(said, str) and said.isascii() and said.isdigit() else version
    return oldest <= VERSION


def _said(connection: apsw.Connection) -> object:
    try:
        found = connection.execute("SELECT value FROM settings WHERE name = 'writers_from'").fetchall()
    except apsw.SQLError:  # a version that keeps its settings elsewhere is one that we know nothing of
        return None
    return next((value for (value,) in found), None)


def version_of(connection: apsw.Connection) -> int:
    """0: no schema of ours yet."""
    try:
        ((version,),) = connection.execute("SELECT max(version) FROM schema_migrations").fetchall()
    except apsw.SQLError as error:
        if "no such table" in str(error):
            return 0
        raise SchemaMismatch(
            "the table schema_migrations belongs to another program; keep Palaver in a file of its own"
        ) from None
    return int(version or 0)


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
    from . import schema, shape  # who finds the file current does without

    version, files = version_of(connection), schema.migrations()
    if version == 0:
        shape.create_missing(connection)
        steps = files
    else:
        steps = files[version : version + 1]
        for _, text in steps:
            for statement in schema.statements(text):
                connection.execute(statement)
    for name, _ in steps:
        number, _, title = name.partition("_")
        connection.execute("INSERT INTO schema_migrations VALUES (?, ?, ?)", (int(number), title, now_ms()))


def refuse_strangers(connection: apsw.Connection, path: str) -> None:
    """A database that holds neither our schema nor the contract's tables is somebody else's."""
    found = connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall()
    if not {(table,) for table in CONTRACT} <= set(found):
        raise NotAStore(f"{path} is a database, but not a store: it has no {CONTRACT[0]} table; nothing was changed")
