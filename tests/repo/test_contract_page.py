"""The contract's page names every column of the three tables, with its type and what it has if nobody gives it."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from palaver.db import schema

PAGE = (Path(__file__).parent.parent.parent / "docs" / "contract.md").read_text()
TABLES = ["chat_sessions", "chat_messages", "chat_parts"]


def told(table: str) -> list[tuple[str, str, str]]:
    """(column, type, what it has without) of each line of the table on the page; each says what it holds."""
    section = PAGE.split(f"### `{table}`")[1].split("\n###")[0]
    lines = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \| (.+) \|$", section, re.MULTILINE)
    assert all(holds.strip() for *_, holds in lines)
    return [(column, kind, without.strip("`")) for column, kind, without, _ in lines]


def made(table: str) -> list[tuple[str, str, str]]:
    """The same, of what the schema makes."""
    db = sqlite3.connect(":memory:")
    for statement in schema.statements(schema.text()):
        if not statement.startswith("CREATE VIRTUAL"):  # of a younger SQLite than some Python has
            db.execute(statement)
    found = []
    for _, name, kind, is_needed, default, is_key in db.execute(f"PRAGMA table_info({table})"):
        without = "needed" if is_key or (is_needed and default is None) else (default or "NULL").strip("'")
        found.append((name, kind, without))
    return found


@pytest.mark.parametrize("table", TABLES)
def test_the_page_has_the_columns_of_the_schema(table: str) -> None:
    assert told(table) == made(table)


def test_the_page_has_a_section_for_each_table_and_no_other() -> None:
    assert re.findall(r"^### `(\w+)`", PAGE, re.MULTILINE) == TABLES
