"""schema.sql as it is read is what SQLite makes of it, and a store that is only opened does not read it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import palaver
from palaver.db import schema
from palaver.db.queries import Q
from palaver.db.schema import Schema

Facts = dict[str, Any]


def as_read(read: Schema) -> Facts:
    facts: Facts = {}
    for table in read.tables.values():
        facts[table.name] = [
            (one.name, one.type, one.is_required, one.default, one.is_key, one.refers) for one in table.columns
        ]
        facts[f"key of {table.name}"] = list(table.key)
    for index in read.indexes:
        facts[index.name] = (index.table, list(index.columns), index.where is not None)
    return facts


def as_made(sql: str) -> Facts:
    """What SQLite's own catalogue says."""
    db = apsw.Connection(":memory:")
    db.execute(sql)
    facts: Facts = {}
    for name, without_rowid in db.execute("SELECT name, wr FROM pragma_table_list WHERE type = 'table'").fetchall():
        if not name.startswith("sqlite_"):
            facts |= _made_table(db, name, bool(without_rowid))
    return facts


def _made_table(db: apsw.Connection, table: str, without_rowid: bool) -> Facts:
    refers = {
        column: (other, there, on_delete)
        for _, _, other, column, there, _, on_delete, _ in db.execute(f"PRAGMA foreign_key_list({table})").fetchall()
    }
    columns, key = [], {}
    for _, name, kind, required, default, place in db.execute(f"PRAGMA table_info({table})").fetchall():
        is_said = bool(required) and not (place and without_rowid and table not in _SHARED_KEYS)
        columns.append((name, kind, is_said, default, bool(place), refers.get(name)))
        if place:
            key[place] = name
    facts: Facts = {table: columns, f"key of {table}": [key[place] for place in sorted(key)]}
    for _, index, _, made_by, is_partial in db.execute(f"PRAGMA index_list({table})").fetchall():
        if made_by == "c":
            named = [name for _, _, name in db.execute(f"PRAGMA index_info({index})").fetchall()]
            facts[index] = (table, named, bool(is_partial))
    return facts


# Without rowid a key is never NULL, and SQLite says so; the file says it where several columns are the key.
_SHARED_KEYS = {table.name for table in schema.current().tables.values() if len(table.key) > 1}


def test_tables_columns_keys_and_indexes_are_read_as_sqlite_makes_them() -> None:
    assert as_read(schema.current()) == as_made(schema.text())


def planted() -> Iterator[tuple[str, str]]:
    yield "begin_seq       INTEGER NOT NULL", "begin_seq       INTEGER"
    yield "seq        INTEGER NOT NULL,\n    kind       TEXT NOT NULL,", "seq INTEGER NOT NULL, kind TEXT,"
    yield "PRIMARY KEY (namespace, name)", "PRIMARY KEY (name, namespace)"
    yield "ON turns (session_id, sealed_at) WHERE live = 1", "ON turns (session_id, sealed_at)"
    yield "DEFAULT '[]'", "DEFAULT '{}'"
    yield "chat_messages (id) ON DELETE CASCADE", "chat_messages (id) ON DELETE RESTRICT"


@pytest.mark.parametrize(("old", "new"), planted())
def test_a_schema_that_differs_is_read_otherwise(old: str, new: str) -> None:
    changed = schema.text().replace(old, new, 1)
    assert changed != schema.text()
    assert as_read(Schema(changed)) != as_read(schema.current())
    assert as_read(Schema(changed)) == as_made(changed)


def test_a_statement_that_names_every_column_follows_the_schema() -> None:
    assert (
        Q.export_pruned.text
        == "SELECT part_id, session_id, at FROM pruned WHERE session_id = :session ORDER BY part_id;"
    )
    assert Q.import_line.names == tuple(column.name for column in schema.current().tables["reflog"].columns)
    assert '"index" = :index' in Q.restore_part.text and " id = :id" not in Q.restore_part.text


def test_a_store_that_is_opened_and_read_does_without_the_schema(tmp_path: Path) -> None:
    path = str(tmp_path / "talks.db")
    with palaver.open(path) as store:
        store.sessions.create("a").commit("hello")
    code = f"""
import sys, palaver
with palaver.open({path!r}) as store:
    [found] = store.sessions.list().sessions
    store.sessions.get(found.id).commit("more")
    assert len(store.sessions.get(found.id).messages()) == 2
print("palaver.db.schema" in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout == "False\n"
