"""Our schema in the words of seed 000. That it is what SQLite makes of it, tests/migrations/test_schema.py shows."""

from __future__ import annotations

from pathlib import Path

from palaver.db import schema
from palaver.db.schema import Column

ROOT = Path(__file__).resolve().parents[2]
SCHEMA_SQL = ROOT / "src" / "palaver" / "db" / "sql" / "schema.sql"


class Schema:
    def __init__(self, sql: str) -> None:
        self.triggers = [text for text in schema.statements(sql) if text.startswith("CREATE TRIGGER")]
        read = schema.Schema(sql)
        # table → (column, type, required, default)
        self.tables = {table.name: [_column(one) for one in table.columns] for table in read.tables.values()}
        # index → (table, columns)
        self.indexes = {index.name: (index.table, index.columns) for index in read.indexes}
        # table → (column, table it refers to, column there, on delete)
        self.keys = {
            table.name: [(one.name, *one.refers) for one in table.columns if one.refers]
            for table in read.tables.values()
        }

    def has_column(self, table: str, column: str) -> bool:
        return any(name == column for name, *_ in self.tables.get(table, ()))


def load(sql: str | None = None) -> Schema:
    return Schema(schema.text() if sql is None else sql)


def _column(column: Column) -> tuple[str, str, str, str | None]:
    required = "PK" if column.is_key else "required" if column.is_required else "optional"
    return column.name, column.type, required, column.default
