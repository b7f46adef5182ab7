"""Hermes' `state.db` to be read: a snapshot of it, its version, its rows by the names of their columns.

The file itself is never opened here, and nothing is left beside it: see `snapshot`. What cannot be read is told by
`gaps`, with everything else still there.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from ...errors import NotAStore, StoreCorrupt, StoreError, StoreFull, StoreTimeout
from . import snapshot
from .tables import Gap, Table, as_text

NEWEST = 22  # the newest schema that was looked at
STRICT = 0x50565336  # the mark of an export that leaves out what schema 6 cannot say
READ = ("sessions", "messages", "session_model_usage")
_OWN = ("schema_version", "state_meta")  # how the file is kept, not what was said
_DERIVED = ("messages_fts", "sqlite_")  # what the names of tables begin with that are made of others
_SECONDS, _PER_BYTE = 60.0, 1 / (2 << 20)  # what a snapshot may take
_WRONG = {
    "missing": "{path} is not there; name the state.db of Hermes",
    "directory": "{path} is a directory; name the state.db in it",
    "empty": "{path} is empty: Hermes has not written anything to it",
    "other": "{path} is no SQLite database, so it is no state.db of Hermes",
    "unreadable": "{path} cannot be read: {why}",
}


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[StateFile]:
    """A snapshot of the file, while the block runs."""
    name = os.fspath(path)
    with tempfile.TemporaryDirectory(prefix="palaver-hermes-", ignore_cleanup_errors=True) as folder:
        copy = str(Path(folder, "state.db"))
        _take(name, copy)
        with closing(_connected(name, copy)) as connection:
            try:
                file = StateFile(name, connection)
            except sqlite3.DatabaseError as error:
                raise StoreCorrupt(f"{name} is damaged, and nothing of it can be read: {error}") from None
            yield file


def _take(path: str, copy: str) -> None:
    said = _said(path, copy)
    wrong, why = said.get("wrong"), said.get("why", "")
    if wrong == "full":
        raise StoreFull(f"there is no room for a copy of {path} in {Path(copy).parent.parent}: {why}")
    if wrong is not None:
        raise NotAStore(_WRONG[str(wrong)].format(path=path, why=why))


def _said(path: str, copy: str) -> dict[str, Any]:
    """What the process says that takes it."""
    command = [sys.executable, "-I", "-S", str(Path(snapshot.__file__)), os.path.abspath(path), copy]
    allowed = _SECONDS + _size(path) * _PER_BYTE
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=allowed)
    except subprocess.TimeoutExpired:
        raise StoreTimeout(path, allowed) from None
    try:
        said: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        _, _, why = done.stderr.decode(errors="replace").strip().rpartition("\n")
        raise StoreError(f"{path} cannot be copied to be read: {why or f'exit code {done.returncode}'}") from None
    return said


def _size(path: str) -> int:
    """Of the file and its log; a look at a file takes no lock away."""
    found = 0
    for end in ("", *snapshot.BESIDE):
        with suppress(OSError):
            found += os.stat(path + end).st_size
    return found


def _connected(path: str, copy: str) -> sqlite3.Connection:
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.text_factory = as_text
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA writable_schema = ON")  # a line of its schema that is damaged does not hide the rest
        connection.execute("PRAGMA schema_version").fetchall()
    except sqlite3.DatabaseError as error:
        connection.close()
        raise StoreCorrupt(f"{path} is damaged, and nothing of it can be read: {error}") from None
    return connection


class StateFile:
    """What a snapshot holds."""

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._refuse_other()
        self.sessions = self._table("sessions")
        self.messages = self._table("messages")
        self.usage = Table(connection, "session_model_usage") if "session_model_usage" in self._names else None

    @property
    def gaps(self) -> list[Gap]:
        """What could not be read so far."""
        tables = (self.sessions, self.messages, *((self.usage,) if self.usage else ()))
        return [gap for table in tables for gap in table.gaps]

    @cached_property
    def version(self) -> int | None:
        with suppress(sqlite3.DatabaseError, ValueError, TypeError):
            for (version,) in self._connection.execute("SELECT version FROM schema_version LIMIT 1"):
                return int(version)
        return None

    @cached_property
    def is_strict(self) -> bool:
        """Whether it is an export of ours that leaves something out."""
        with suppress(sqlite3.DatabaseError):
            [(found,)] = self._connection.execute("PRAGMA application_id")
            return bool(found == STRICT)
        return False

    @cached_property
    def others(self) -> dict[str, int | None]:
        """Tables of later versions that are not read, and how many rows each has."""
        known = {*READ, *_OWN}
        names = [name for name in self._names if name not in known and not name.startswith(_DERIVED)]
        counts = {name: Table(self._connection, name).count() for name in names}
        return {name: count for name, count in counts.items() if count != 0}

    @cached_property
    def _names(self) -> list[str]:
        """The real tables; of a damaged schema, those that can be read."""
        found = [row[1:] for row in Table(self._connection, "sqlite_master").keys("type", "name", "sql")]
        real = [(kind, name) for kind, name, sql in found if not str(sql).upper().startswith("CREATE VIRTUAL")]
        return sorted(name for kind, name in real if kind == "table" and isinstance(name, str))

    def _refuse_other(self) -> None:
        if "chat_sessions" in self._names:
            raise NotAStore(f"{self.path} is a store of Palaver, not a state.db; `palaver copy` copies stores")
        missing = [name for name in ("sessions", "messages") if name not in self._names]
        if missing and "schema_version" not in self._names:
            raise NotAStore(f"{self.path} is an SQLite database without {' and '.join(missing)}: no state.db of Hermes")
        if missing:
            raise StoreCorrupt(f"{self.path} has no table {' and '.join(missing)}; the file is damaged")

    def _table(self, name: str) -> Table:
        table = Table(self._connection, name)
        needed = {"sessions": ("id",), "messages": ("id", "session_id", "role")}[name]
        missing = [column for column in needed if column not in table]
        if missing:
            raise NotAStore(f"{self.path} is no state.db of Hermes: its {name} have no {', '.join(missing)}")
        return table
