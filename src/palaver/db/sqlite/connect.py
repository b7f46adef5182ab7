"""How every connection to SQLite is configured; and a person's own SELECT on one."""

from __future__ import annotations

import apsw

from ...errors import BadValue

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..engine import Row

_PATIENCE_MS = 5000
_READING = {apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE}
_ASKING = {"table_info", "table_list", "table_xinfo", "index_list", "index_info", "user_version", "data_version"}


def connect(file: str, flags: int, *, keeping_log: bool = False) -> apsw.Connection:
    """`keeping_log`: a log that is there stays there when the last connection is closed."""
    connection = apsw.Connection(file, flags=flags, statementcachesize=512)
    try:
        _configure(connection, keeping_log)
    except BaseException:
        connection.close()
        raise
    return connection


def _configure(connection: apsw.Connection, keeping_log: bool) -> None:
    """What happens at close is configured first: whatever fails after it, the connection can be closed."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(keeping_log))
    connection.set_busy_timeout(_PATIENCE_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    # Without this, STAT4 compiles a statement again whenever a bound value of a range changes: 5x per commit.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for pragma in ("foreign_keys=ON", "trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def ask(connection: apsw.Connection, text: str) -> tuple[list[str], Iterator[Row]]:
    """Column names and rows. Whatever the text says, it cannot change or open anything; the connection is closed after
    the last row."""
    connection.authorizer = _only_reading
    connection.set_progress_handler(lambda: False, 10_000)  # lets Ctrl-C through
    cursor, columns = connection.cursor(), list[str]()

    def name_columns(running: apsw.Cursor, sql: str, bindings: Any) -> bool:
        columns[:] = [str(name) for name, *_ in running.get_description()]
        return True

    cursor.exec_trace = name_columns
    try:
        cursor.execute(text)
    except (apsw.Error, UnicodeDecodeError) as error:
        connection.close()
        raise _told(error) from None
    return columns, _closing(connection, cursor)


def _told(error: Exception) -> BadValue:
    if isinstance(error, UnicodeDecodeError):
        return BadValue("a text in the answer is not UTF-8; ask for hex(column) instead")
    return BadValue(f"cannot run this: {error}")


def _only_reading(
    operation: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    if operation in _READING or (operation == apsw.SQLITE_PRAGMA and first in _ASKING):
        return apsw.SQLITE_OK
    return apsw.SQLITE_DENY


def _closing(connection: apsw.Connection, cursor: apsw.Cursor) -> Iterator[Row]:
    try:
        yield from cursor
    except (apsw.Error, UnicodeDecodeError) as error:
        raise _told(error) from None
    finally:
        connection.close()
