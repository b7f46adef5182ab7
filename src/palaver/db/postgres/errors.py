"""What Postgres's errors mean to a person: by SQLSTATE; by text only where there was no connection, and the driver
gives nothing else."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors as pg

from ...errors import (
    BadValue,
    NotAStore,
    PalaverError,
    Refused,
    SchemaMismatch,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTimeout,
    StoreUnavailable,
)

TRANSLATED = (psycopg.Error, UnicodeEncodeError)
_LATER = (pg.LockNotAvailable, pg.DeadlockDetected, pg.SerializationFailure)
_SHAPE = (pg.UndefinedTable, pg.UndefinedColumn, pg.DatatypeMismatch, pg.NotNullViolation, pg.UndefinedObject)
_LOGIN = ("authentication", "no password", "pg_hba.conf", 'role "')
_NAMES = ("could not translate", "failed to resolve")
_NO_DATABASE = re.compile(r'database "[^"]*" does not exist')
_MISTAKE = "connection is bad: invalid "  # a value in the address that the driver does not know
_MAY_NOT = (pg.InsufficientPrivilege, pg.ReadOnlySqlTransaction)


def is_lost(error: BaseException) -> bool:
    """The connection is gone, or the server is: not a word about what was asked."""
    if isinstance(error, pg.AdminShutdown | pg.CrashShutdown | pg.CannotConnectNow | pg.TooManyConnections):
        return True
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and (
        error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))
    )


def is_unsure(error: BaseException) -> bool:
    """What was being committed may be done all the same. Citus says "internal error" where a worker was lost after it
    was told to commit."""
    return is_lost(error) or isinstance(error, pg.InternalError_)


def explain(error: Exception, name: str, timeout: float) -> PalaverError:
    if isinstance(error, UnicodeEncodeError):
        return BadValue("half a character (a lone surrogate) cannot be looked up or stored in a column")
    if isinstance(error, psycopg.DataError):
        return BadValue(f"Postgres cannot hold this: {_first_line(error)}")
    reason = _first_line(error)
    if isinstance(error, _LATER):
        return StoreBusy(name, None, timeout)
    if isinstance(error, pg.QueryCanceled):
        return StoreTimeout(name, timeout)
    if isinstance(error, pg.DiskFull | pg.OutOfMemory):
        return StoreFull(f"the server that holds {name} has no room left ({reason}); nothing acknowledged was lost")
    if isinstance(error, _MAY_NOT):
        return StoreReadOnly(f"{name}: {reason}; ask for the right to use and write this schema")
    if isinstance(error, _SHAPE):
        return SchemaMismatch(f"{name} holds tables that are not shaped as expected: {reason}")
    if isinstance(error, pg.UniqueViolation):
        return Refused(f"somebody else stored the same at the same moment ({reason}); try again")
    if is_lost(error):
        return _not_let_in(error, name) or StoreUnavailable(not_done(error, name))
    return StoreError(f"{name}: {reason}")


def is_hopeless(error: psycopg.Error) -> bool:
    """The server is there and says no, or the address is wrong: waiting does not help."""
    text = str(error)
    return any(word in text for word in (*_LOGIN, *_NAMES, _MISTAKE)) or _NO_DATABASE.search(text) is not None


def _not_let_in(error: BaseException, name: str) -> PalaverError | None:
    """Why no other try will do better; None if one may."""
    text, reason = str(error), _first_line(error)
    if _NO_DATABASE.search(text):
        return NotAStore(f"{name}: there is no such database ({reason}); make it (createdb), or name another")
    if any(word in text for word in _LOGIN):
        return StoreError(f"{name} does not let you in ({reason}); give the right user and password")
    if any(word in text for word in _NAMES):
        return StoreUnavailable(f"{name} cannot be found ({reason}); look at the host's name")
    return BadValue(f"{name}: {reason}; mend the address") if _MISTAKE in text else None


def not_done(error: BaseException, name: str) -> str:
    return f"{name} cannot be reached ({_first_line(error)}); nothing was changed, try again"


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
