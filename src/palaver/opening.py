"""Opening a store: from an address to its engine, with the options that each of the two takes."""

from __future__ import annotations

import os
from typing import Any, Unpack

from .background.maintenance import say
from .base import address, arguments
from .db.engine import Engine
from .db.sqlite import filesystem
from .db.sqlite.engine import SqliteDatabase
from .db.sqlite.readonly import ReadOnlyDatabase
from .errors import BadValue, StoreError
from .keywords import EngineKeywords, OpenKeywords, PostgresKeywords
from .store import Store

Address = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def open(url: Address, space: str | None = None, **options: Unpack[OpenKeywords]) -> Store:
    """Open a store: a path, ":memory:", or a Postgres address and a space on it. It is made if it is not there, unless
    `create=False`. With `readonly=True` nothing of it is changed, made, recovered or adopted."""
    store = open_quietly(url, space, **options)
    for note in store.notes:
        say(note)
    return store


def open_quietly(url: Address, space: str | None, **given: Unpack[OpenKeywords]) -> Store:
    """`open`, for who says by itself what there is to say (`store.notes`)."""
    path = _path(url)
    is_postgres = address.is_server(path)
    options: dict[str, Any] = {**given}
    of_engine = {*EngineKeywords.__annotations__, *(PostgresKeywords.__annotations__ if is_postgres else ())}
    arguments.options("open()", options, {"space", *OpenKeywords.__annotations__})
    for name in () if is_postgres else PostgresKeywords.__annotations__:
        if name in options:
            raise TypeError(f"open() has no option {name!r} for a file; it is for a postgresql:// address")
    for name, least in (("timeout", 0), ("lease", 0.1)):
        if name in options:
            arguments.number(name, options[name], least=least)
    for name in ("create", "readonly", "pooler"):
        if name in options:
            arguments.flag(name, options[name])
    chosen = {name: options.pop(name) for name in of_engine if name in options}
    return _open_on(_server(path, space, chosen) if is_postgres else _file(path, space, chosen), options)


def _path(url: Any) -> str:
    if not isinstance(url, str | bytes | os.PathLike):
        raise BadValue(
            f"a store is opened by a path, ':memory:' or a postgresql:// address, not {arguments.shown(url)}"
        )
    return os.fsdecode(url)


def _server(url: str, space: str | None, chosen: dict[str, Any]) -> Engine:
    url, named = address.split(url)
    if space is not None and named and space != named:
        raise BadValue(f"the address names the space {named!r}, and `space` {space!r}; leave one of them out")
    return _postgres(url, (named or "default") if space is None else space, chosen)


def _file(path: str, space: str | None, chosen: dict[str, Any]) -> Engine:
    if space is not None:
        raise BadValue("a file is one space by itself; leave `space` out")
    if "://" in path:
        scheme, _, _ = path.partition("://")
        raise BadValue(f"{scheme}:// stores are not supported; give a path, ':memory:' or postgresql://")
    path = path if path == ":memory:" else filesystem.locate(path)
    if chosen.pop("readonly", False):
        return ReadOnlyDatabase(path, timeout=chosen.get("timeout", 30.0))
    return SqliteDatabase(path, **chosen)


def _open_on(engine: Engine, options: dict[str, Any]) -> Store:
    try:
        return Store(engine, **options)
    except BaseException:
        engine.close()
        raise


def _postgres(url: str, space: str, options: dict[str, Any]) -> Engine:
    try:
        from .db.postgres.engine import PostgresDatabase
    except ModuleNotFoundError as error:
        raise StoreError(f"Postgres needs {error.name}; pip install 'palaver-store[postgres]'") from None
    return PostgresDatabase(url, space, **options)
