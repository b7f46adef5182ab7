"""What a schema means, told by SQLite's own catalogue: columns, keys, indexes, views; not how it was
spelled."""

from __future__ import annotations

from typing import Any

import apsw

Catalogue = dict[str, Any]


def catalogue(path: str) -> Catalogue:
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        listed = db.execute("PRAGMA table_list").fetchall()
        ours = [row for row in listed if row[0] == "main" and not row[1].startswith("sqlite_")]
        return {name: _described(db, name, *rest) for _, name, *rest in ours}
    finally:
        db.close()


def _described(db: apsw.Connection, name: str, kind: str, columns: int, without_rowid: int, strict: int) -> Catalogue:
    return {
        "kind": kind,
        "without rowid": without_rowid,
        "strict": strict,
        "columns": _rows(db, f'PRAGMA table_xinfo("{name}")'),
        "refers to": _rows(db, f'PRAGMA foreign_key_list("{name}")'),
        "indexes": {row[1]: _index(db, row) for row in db.execute(f'PRAGMA index_list("{name}")').fetchall()},
        "text": _view(db, name) if kind == "view" else "",
        "triggers": _rows(db, "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", name),
    }


def _index(db: apsw.Connection, row: tuple[Any, ...]) -> list[Any]:
    """Unique, made by whom, on what, and where."""
    _, name, unique, origin, partial = row
    where = _sql(db, name).partition(" WHERE ")[2]
    assert bool(where) == bool(partial)
    return [unique, origin, where, _rows(db, f'PRAGMA index_xinfo("{name}")')]


def _view(db: apsw.Connection, name: str) -> str:
    return _sql(db, name).partition(" AS ")[2]


def _sql(db: apsw.Connection, name: str) -> str:
    """The text without comments and line ends; an automatic index has none."""
    ((text,),) = db.execute("SELECT max(sql) FROM sqlite_schema WHERE name = ?", (name,)).fetchall()
    lines = (line.partition("--")[0] for line in (text or "").splitlines())
    return " ".join(" ".join(lines).split())


def _rows(db: apsw.Connection, sql: str, *params: Any) -> list[list[Any]]:
    return [list(row) for row in db.execute(sql, params).fetchall()]
