"""Errors as a program written for Hermes expects them: each is still the PalaverError that it was, and a sqlite3.Error.

Hermes raises ValueError for titles, and sqlite3's own errors for everything else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ...errors import BadValue, NotFound, PalaverError, Refused, SessionExists, StoreBusy, StoreCorrupt, StoreTimeout

P = ParamSpec("P")
R = TypeVar("R")
_KINDS: list[tuple[tuple[type[PalaverError], ...], type[sqlite3.Error]]] = [
    ((NotFound, Refused, SessionExists), sqlite3.IntegrityError),
    ((BadValue,), sqlite3.InterfaceError),
    ((StoreCorrupt,), sqlite3.DatabaseError),
    ((StoreBusy, StoreTimeout), sqlite3.OperationalError),
    ((PalaverError,), sqlite3.OperationalError),
]


def like_sqlite(method: Callable[P, R]) -> Callable[P, R]:
    """What a method raises is an error of sqlite3, too."""

    def calls(*args: P.args, **given: P.kwargs) -> R:
        try:
            return method(*args, **given)
        except PalaverError as error:
            error.__class__ = _both(type(error))
            raise

    calls.__code__ = calls.__code__.replace(co_name=method.__name__)  # errors name the verb that was called
    return wraps(method)(calls)


_MADE: dict[type[PalaverError], type[PalaverError]] = {}


def _both(kind: type[PalaverError]) -> type[PalaverError]:
    """The class of an error, and that of sqlite3 that fits it; made once."""
    if kind not in _MADE and not issubclass(kind, sqlite3.Error):
        other = next(other for kinds, other in _KINDS if issubclass(kind, kinds))
        about = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__reduce__": _reduced}
        _MADE[kind] = type(kind.__name__, (kind, other), about)
    return _MADE.get(kind, kind)


def _reduced(error: PalaverError) -> tuple[Any, ...]:
    """Such an error can be sent to another process, which makes the same of it."""
    kind = next(kind for kind, made in _MADE.items() if made is type(error))
    return _again, (kind, error.args, error.__dict__)


def _again(kind: type[PalaverError], args: tuple[Any, ...], about: dict[str, Any]) -> PalaverError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(about)
    error.__class__ = _both(kind)
    return error
