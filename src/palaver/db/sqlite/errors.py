"""What SQLite's errors mean to a person: translated in one place."""

from __future__ import annotations

import apsw

from ...errors import (
    BadValue,
    IndexDamaged,
    NotAStore,
    PalaverError,
    SchemaMismatch,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    TooManyFiles,
)
from ..os_errors import has_too_many
from . import filesystem

TRANSLATED = (apsw.Error, UnicodeEncodeError, UnicodeDecodeError, OverflowError)


def explain(
    error: Exception,
    path: str,
    timeout: float,
    *,
    opening: bool = False,
    reading: bool = False,
    holder: str | None = None,
) -> PalaverError:
    """The error that the caller gets. `opening`: the store was being opened; `reading`: to be read only; `holder`: the
    process that has SQLite's lock."""
    if isinstance(error, UnicodeEncodeError):
        return BadValue("half a character (a lone surrogate) cannot be looked up or stored in a column")
    if isinstance(error, OverflowError):
        return StoreError(
            f"{path}: a number would be larger than SQLite holds (2^63); if you gave none like it, another program "
            "changed the session's numbers, and `palaver verify` looks"
        )
    if isinstance(error, UnicodeDecodeError):
        return StoreCorrupt(f"{path} holds a text that is not UTF-8; verify() says which")
    match error:
        case apsw.Error() if _is_of_index(error):
            return IndexDamaged(str(error))
        case apsw.NotADBError():
            return NotAStore(f"{path} is not a SQLite database; nothing was changed")
        case apsw.CorruptError():
            return StoreCorrupt(
                f"{path} is damaged ({error}); stop writing to it and restore a backup, or run `.recover` on a copy"
            )
        case apsw.CantOpenError() | apsw.IOError() if has_too_many():
            return TooManyFiles(path)
        case apsw.ReadOnlyError() | apsw.CantOpenError() if reading:
            return StoreReadOnly(
                f"{path} cannot be read ({error}): {_hidden(path)}; "
                "check who may read them, or read a copy of all its files"
            )
        case apsw.ReadOnlyError():
            return StoreReadOnly(f"{path} cannot be written; check its permissions and its directory's")
        case apsw.CantOpenError():
            return StoreReadOnly(f"{path} cannot be opened ({error}); check that its directory is writable")
        case apsw.FullError() | apsw.IOError() if _is_full(error):
            return StoreFull(f"the disk that holds {path} is full; nothing acknowledged was lost, free some space")
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(path, holder, timeout)
        case apsw.ConstraintError() if "NOT NULL" in str(error):
            return SchemaMismatch(f"{path}: {error}; a foreign column must allow NULL or have a default")
        case apsw.SQLError() if opening:
            return SchemaMismatch(f"{path} holds tables that are not shaped as expected: {error}")
    return StoreError(f"{path}: {error}")


def _is_of_index(error: apsw.Error) -> bool:
    """FTS5 has a word of its own for what is damaged."""
    text = str(error)
    is_its = isinstance(error, apsw.CorruptError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB
    return is_its or "fts5" in text or "document_words" in text or any(map(_reads_index, _notes(error)))


def _notes(error: apsw.Error) -> list[str]:
    """The statement that met a page that is damaged."""
    return getattr(error, "__notes__", [])


def _reads_index(statement: str) -> bool:
    """And nothing that the index is made of."""
    return ("document_words" in statement or " documents " in statement) and "chat_" not in statement


def _hidden(path: str) -> str:
    found = filesystem.unreadable(path)
    if found:
        return f"{' and '.join(found)} may not be read by you"
    return "its log, or the log's index, may not be read or made here"


def _is_full(error: apsw.Error) -> bool:
    """The disk is full; also where SQLite could not enlarge the log's index."""
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE
