"""What the tests of this folder share: plain SQL beside Palaver, and statements overheard."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

import palaver
from palaver.db import migrate
from palaver.db.schema import migrations

from ..tools.puppet import Crew
from ..tools.sql import column, query
from . import old
from .catalogue import catalogue

_ANOTHER_PROCESS = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30)
with db:
    db.execute(sys.argv[2])
db.close()
"""


def versions(path: str) -> list[tuple[Any, ...]]:
    return query(path, "SELECT version, name FROM schema_migrations ORDER BY rowid")


def from_another_process(path: str, sql: str) -> None:
    """Another program, another SQLite, another process."""
    subprocess.run([sys.executable, "-c", _ANOTHER_PROCESS, path, sql], check=True, timeout=60)


@contextmanager
def overheard() -> Iterator[list[str]]:
    """The statements of every connection that is opened meanwhile, in order."""
    heard: list[str] = []

    def trace(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        heard.append(" ".join(sql.split()))
        return True

    def listen(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(listen)
    try:
        yield heard
    finally:
        apsw.connection_hooks.remove(listen)


def transactions(heard: list[str]) -> list[list[str]]:
    """What lies between each BEGIN IMMEDIATE and its COMMIT."""
    found: list[list[str]] = []
    inside = False
    for statement in heard:
        word = statement.rstrip(";").upper()
        if word == "BEGIN IMMEDIATE":
            inside = True
            found.append([])
        elif word in ("COMMIT", "ROLLBACK"):
            inside = False
        elif inside:
            found[-1].append(statement)
    return found


def next_version(patch: pytest.MonkeyPatch, step: tuple[str, str]) -> None:
    """As if one more migration had come."""
    known = migrations()
    patch.setattr(migrate, "VERSION", len(known) + 1)
    patch.setattr("palaver.db.schema.migrations", lambda: [*known, step])


# ---------------------------------------------------------------- trouble at every point


def run(folder: Path, **asked: Any) -> dict[str, Any]:
    """`runner.py`, in a process of its own."""
    job = "all_at_once" if "rounds" in asked else "every_point"
    found: dict[str, Any] = Crew("tests.migrations.runner").alone(job, folder=str(folder), **asked)
    print(f"{asked}: {found['points']} points")
    return found


def whole(folder: Path, start: str) -> dict[str, Any]:
    """What every opening must come to in the end."""
    new = str(folder / "new.db")
    palaver.open(new).close()
    return {
        "said": old.said(start),
        "problems": [],
        "versions": list(range(1, migrate.VERSION + 1)),
        "live": live(folder, start),
        "integrity": ["ok"],
        "catalogue": json.loads(json.dumps(catalogue(new))),
    }


def live(folder: Path, start: str) -> list[str]:
    """Turns that are open or have chunks: from version 2 on a file says so itself."""
    if start in old.TALKS:
        return column(folder / "first.db", "SELECT id FROM turns WHERE live = 1 ORDER BY id")
    return sorted(old.HAS_CHUNKS) if start == "version 1" else []


def finished(folder: Path, start: str, found: dict[str, Any], at_least: int) -> None:
    expected = whole(folder, start)
    for outcome, points in found["outcomes"]:
        for name, value in expected.items():
            assert outcome[name] == value, f"{name}, after trouble at {points}"
    assert found["points"] >= at_least
