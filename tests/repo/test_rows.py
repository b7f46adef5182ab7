"""A row is read by the names of its columns, and the names are those of the statement."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import apsw
import pytest

import palaver
from palaver.core import rows
from palaver.core.rows import Select
from palaver.core.upkeep import records
from palaver.db import schema
from palaver.db.queries import Q

RENAMED: dict[str | None, str] = {"index": "place"}  # a tuple has an `index` of its own
SELECTS = {name: value for name, value in (vars(rows) | vars(records)).items() if isinstance(value, Select)}


def columns_of(name: str) -> list[str]:
    """The names SQLite gives to the columns of a statement, in their order."""
    db = apsw.Connection(":memory:")
    db.execute(schema.text())
    query = getattr(Q, name)
    cursor = db.cursor()
    found: list[str] = []
    cursor.exec_trace = lambda cur, *_: found.extend(name for name, *_ in cur.get_description()) or False
    try:
        cursor.execute(query.text, dict.fromkeys(query.names))
    except apsw.ExecTraceAbort:
        pass
    return found


@pytest.mark.parametrize("name", SELECTS)
def test_a_row_has_the_columns_of_its_statement(name: str) -> None:
    select = SELECTS[name]
    columns = columns_of(select.name)
    named: list[str | None] = [column if re.fullmatch(r"\w+", column) else None for column in columns]
    assert len(columns) == len(select.row._fields)
    for column, field in zip(named, select.row._fields, strict=True):
        assert RENAMED.get(column, column) in (None, field)


def selects_in(source: str) -> list[tuple[str, str]]:
    """(what it is called, its statement) of each, as written: a name that is given twice would hide the first."""
    return re.findall(r'^(\w+) = Select\("(\w+)"', source, re.MULTILINE)


def test_no_statement_has_two_kinds_of_rows() -> None:
    written = [each for module in (rows, records) for each in selects_in(Path(module.__file__).read_text())]
    assert len(written) == len(SELECTS) > 50
    for called in zip(*written, strict=True):
        assert sorted(called) == sorted(set(called))


def test_a_statement_that_is_named_twice_is_seen() -> None:
    twice = 'a = Select("x", Row)\nb = Select("x", Row)\n'
    assert selects_in(twice) == [("a", "x"), ("b", "x")]


# ---------------------------------------------------------------- nobody counts columns

READERS = {"one", "all", "all_values", "query", "fetchone", "fetchall", "execute"}


def is_read(node: ast.AST) -> bool:
    """A call that answers rows, or an expression in which one is."""
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr in READERS for func in calls)


def rows_in(scope: ast.AST) -> set[str]:
    """The names that stand for rows, or lists of them, in a function."""
    found: set[str] = set()
    for _ in range(3):  # a row of rows of rows
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
            elif isinstance(node, ast.For | ast.comprehension):
                target, value = node.target, node.iter
            elif isinstance(node, ast.NamedExpr):
                target, value = node.target, node.value
            else:
                continue
            mentioned = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
            is_typed = any(
                isinstance(each, ast.Attribute) and ast.unparse(each.value) in ("rows", "records")
                for each in ast.walk(value)
            )
            if isinstance(target, ast.Name) and not is_typed and (is_read(value) or _is_same(value, found & mentioned)):
                found.add(target.id)
    return found


def _is_same(value: ast.AST, rows: set[str]) -> bool:
    """A name for rows by itself, or one of them by its place in the list."""
    if isinstance(value, ast.Subscript):
        value = value.value
    return isinstance(value, ast.Name) and value.id in rows


def _is_number(index: ast.AST) -> bool:
    return isinstance(index, ast.Constant) and type(index.value) is int


def _is_row(value: ast.AST, names: set[str]) -> bool:
    return is_read(value) or (isinstance(value, ast.Name) and value.id in names)


def counted(source: str) -> list[str]:
    """The places where a column is read by its number."""
    found = []
    for scope in ast.walk(ast.parse(source)):
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        names = rows_in(scope)
        for node in ast.walk(scope):
            if isinstance(node, ast.Subscript) and _is_number(node.slice) and _is_row(node.value, names):
                found.append(ast.unparse(node))
    return sorted(set(found))


def test_no_column_is_read_by_its_number() -> None:
    root = Path(palaver.__file__).parent
    found = {str(path.relative_to(root)): counted(path.read_text()) for path in sorted(root.rglob("*.py"))}
    assert {path: places for path, places in found.items() if places and not path.startswith("testing")} == {}


def test_a_column_that_is_read_by_its_number_is_seen() -> None:
    assert counted("def f(tx):\n    row = tx.one(Q.x)\n    return row[3]") == ["row[3]"]
    assert counted("def f(tx):\n    return [each[0] for each in tx.all(Q.x)]") == ["each[0]"]
    assert counted("def f(tx):\n    return (tx.one(Q.x) or ('',))[0]") == ["(tx.one(Q.x) or ('',))[0]"]
    assert counted("def f(tx):\n    a, b = tx.one(Q.x)\n    return a") == []
