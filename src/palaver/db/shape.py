"""The shape of a SQLite file, beside the schema: what is missing is made, what another program shaped is refused.

A foreign contract database keeps its tables as they are: columns of the contract that it lacks are added with their
defaults, indexes that it lacks are created, columns that it has beyond the contract are left alone. A table or view of
our own that does not fit belongs to another program, and is refused.
"""

from __future__ import annotations

import apsw

from ..errors import SchemaMismatch
from . import schema
from .schema import Column, Index, Table, View, Virtual
from .sqlite.intruders import CONTRACT

_STAND_IN = {"TEXT": "''", "INTEGER": "0", "REAL": "0", "BLOB": "x''"}


def refuse_misfits(connection: apsw.Connection) -> None:
    """Before anything is made: tables of our names that another program shaped."""
    for wanted in schema.current().all:
        if not isinstance(wanted, Index) and _exists(connection, wanted.name):
            _compare(connection, wanted)


def create_missing(connection: apsw.Connection) -> None:
    """Make what the file lacks, in the order of the schema."""
    for wanted in schema.current().all:
        if isinstance(wanted, Index):
            if not _has_index(connection, wanted):
                connection.execute(wanted.sql)
        elif not _exists(connection, wanted.name):
            connection.execute(wanted.sql)
        else:
            _compare(connection, wanted)
            if isinstance(wanted, Table) and wanted.name in CONTRACT:
                _add_columns(connection, wanted)


def _compare(connection: apsw.Connection, wanted: Table | View | Virtual) -> None:
    if isinstance(wanted, View | Virtual):
        _compare_text(connection, wanted)
    elif wanted.name in CONTRACT:
        _compare_contract(connection, wanted)
    else:
        _compare_columns(connection, wanted)


def _exists(connection: apsw.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE type IN ('table','view') AND name = ?", (name,))
    return bool(found.fetchall())


def _has_index(connection: apsw.Connection, wanted: Index) -> bool:
    """Whatever its name: one on the same columns, whole or partial as ours."""
    for _, name, _, _, is_partial in connection.execute(f'PRAGMA index_list("{wanted.table}")').fetchall():
        columns = tuple(name for _, _, name in connection.execute(f'PRAGMA index_info("{name}")').fetchall())
        if columns == wanted.columns and bool(is_partial) == (wanted.where is not None):
            return True
    return False


def _lacking(connection: apsw.Connection, table: Table) -> list[Column]:
    present = {str(name) for _, name, *_ in connection.execute(f'PRAGMA table_info("{table.name}")').fetchall()}
    return [column for column in table.columns if column.name not in present]


def _compare_contract(connection: apsw.Connection, table: Table) -> None:
    for column in _lacking(connection, table):
        if column.is_key or column.refers:
            raise SchemaMismatch(f"{table.name} has no column {column.name}; this is not a contract database")


def _add_columns(connection: apsw.Connection, table: Table) -> None:
    for column in _lacking(connection, table):
        definition = column.definition
        if column.is_required and column.default is None:
            definition += f" DEFAULT {_stand_in(column)}"
        connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {column.quoted} {definition}")


def _stand_in(column: Column) -> str:
    return "'{}'" if column.name.endswith("_json") else _STAND_IN[column.type]


def _compare_columns(connection: apsw.Connection, table: Table) -> None:
    missing = sorted(column.name for column in _lacking(connection, table))
    if missing:
        raise SchemaMismatch(
            f"the table {table.name} belongs to another program (no column {missing[0]}); "
            "keep Palaver in a file of its own"
        )


def _compare_text(connection: apsw.Connection, wanted: View | Virtual) -> None:
    rows = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (wanted.name,)).fetchall()
    if [" ".join(str(sql).split()) for (sql,) in rows] != [" ".join(wanted.sql.split())]:
        raise SchemaMismatch(f"{wanted.name} belongs to another program; keep Palaver in a file of its own")
