"""Our schema as SQLite sees it: schema.sql loaded into memory and read back from the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import apsw

ROOT = Path(__file__).resolve().parents[2]
SCHEMA_SQL = ROOT / "src" / "palaver" / "db" / "sql" / "schema.sql"


@dataclass
class Schema:
    # table → (column, type, required, default), `required` in the words of seed 000
    tables: dict[str, list[tuple[str, str, str, str | None]]] = field(default_factory=dict)
    # index → (table, columns)
    indexes: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    # table → (column, table it refers to, column there, on delete)
    keys: dict[str, list[tuple[str, str, str, str]]] = field(default_factory=dict)
    triggers: list[str] = field(default_factory=list)

    def has_column(self, table: str, column: str) -> bool:
        return any(row[0] == column for row in self.tables.get(table, ()))


def load(sql: str | None = None) -> Schema:
    database = apsw.Connection(":memory:")
    database.execute(SCHEMA_SQL.read_text("utf-8") if sql is None else sql)
    catalogue = list(database.execute("SELECT type, name, tbl_name FROM sqlite_schema ORDER BY rowid"))
    schema = Schema()
    for kind, name, table in catalogue:
        if kind == "table":
            schema.tables[name] = [
                _column(row) for row in database.execute("SELECT * FROM pragma_table_info(?)", (name,))
            ]
            rows = database.execute('SELECT "from", "table", "to", on_delete FROM pragma_foreign_key_list(?)', (name,))
            schema.keys[name] = list(rows)
        elif kind == "index" and not name.startswith("sqlite_autoindex_"):
            rows = database.execute("SELECT name FROM pragma_index_info(?) ORDER BY seqno", (name,))
            schema.indexes[name] = (table, tuple(column for (column,) in rows))
        elif kind == "trigger":
            schema.triggers.append(name)
    database.close()
    return schema


def _column(row: tuple) -> tuple[str, str, str, str | None]:
    _, name, kind, not_null, default, primary = row
    return name, kind, "PK" if primary else "required" if not_null else "optional", default
