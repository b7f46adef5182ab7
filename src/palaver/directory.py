"""The spaces of a Postgres database: which there are; made, copied, dropped and migrated one by one.

Every call has a connection of its own and leaves nothing behind. Postgres is loaded with the first call.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from .base.address import is_server
from .errors import BadValue, NotAStore, PalaverError, Refused, StoreError

if TYPE_CHECKING:
    import psycopg

_TIMEOUT = 30.0


class SpaceInfo(msgspec.Struct, frozen=True):
    """A space: `schema` is what it is called on the server, `version` that of its tables."""

    name: str
    schema: str
    version: int
    created_at: int


class Migrated(msgspec.Struct, frozen=True):
    """What was done to a space. `problem`: why it stayed as it was."""

    name: str
    before: int
    after: int
    problem: str | None = None


def spaces(url: str) -> Spaces:
    """The spaces of the database at a Postgres address."""
    return Spaces(url)


class Spaces:
    def __init__(self, url: str) -> None:
        if not isinstance(url, str) or not is_server(url):
            raise BadValue("only a Postgres database holds spaces (postgresql://user@host/database); a file is one")
        self._url = url

    def list(self) -> builtins.list[SpaceInfo]:
        """All of them, by name."""
        with self._directory() as (directory, connection, _):
            return [SpaceInfo(*space) for space in directory.every(connection)]

    def create(self, name: str) -> SpaceInfo:
        """A new, empty space. `palaver.open` makes one too, if it is not there."""
        with self._directory() as (directory, connection, where):
            if directory.find(connection, directory.check_name(name)) is not None:
                raise Refused(f"the space {name} is there already at {where}")
        from .db.postgres.engine import PostgresDatabase

        PostgresDatabase(self._url, name).close()  # it knows which servers will do
        return self._get(name)

    def drop(self, name: str) -> None:
        """The space and everything in it: there is no way back."""
        with self._directory() as (directory, connection, where):
            if directory.find(connection, name) is None:
                raise NotAStore(f"there is no space {name!r:.60} at {where}")
            with connection.transaction():  # a reader that does not end must not keep all others waiting behind us
                connection.execute("SELECT set_config('lock_timeout', %s, true)", (f"{_TIMEOUT:.0f}s",))
                directory.drop(connection, name)

    def copy(self, source: str, target: str) -> SpaceInfo:
        """A new space that holds what another holds at this moment; done by the server."""
        with self._directory() as (directory, connection, where):
            return SpaceInfo(*directory.copy(connection, where, source, target))

    def migrate(self) -> builtins.list[Migrated]:
        """Bring every space to the current version, each in one transaction; what was done. Stopped anywhere, the next
        call does the rest. A space that cannot be migrated does not keep back the others."""
        from .db.migrate import VERSION

        with self._directory() as (directory, connection, _):
            directory.share_directory(connection)
        return [self._migrate(space) for space in self.list() if space.version < VERSION]

    def _migrate(self, space: SpaceInfo) -> Migrated:
        try:
            with self._directory() as (directory, connection, where):
                after = directory.bring_up(connection, f"{where} ({space.name})", space.name).version
        except PalaverError as error:
            return Migrated(space.name, space.version, space.version, str(error))
        return Migrated(space.name, space.version, after)

    def _get(self, name: str) -> SpaceInfo:
        with self._directory() as (directory, connection, where):
            found = directory.find(connection, name)
        if found is None:
            raise NotAStore(f"there is no space {name!r:.60} at {where}")
        return SpaceInfo(*found)

    @contextmanager
    def _directory(self) -> Iterator[tuple[Any, psycopg.Connection[Any], str]]:
        """What the engine knows of spaces, a connection for it, and where that leads."""
        with connected(self._url) as (connection, where):
            from .db.postgres import spaces as directory

            yield directory, connection, where


@contextmanager
def connected(url: str) -> Iterator[tuple[psycopg.Connection[Any], str]]:
    """A plain connection, and where it leads, said without secrets. Whatever fails is said in our words."""
    try:
        import psycopg

        from .db.postgres.address import Address
        from .db.postgres.errors import explain
    except ModuleNotFoundError as error:
        raise StoreError(f"Postgres needs {error.name}; pip install 'palaver-store[postgres]'") from None
    address = Address(url)
    try:
        with address.connect(_TIMEOUT) as connection:
            yield connection, address.name
    except psycopg.Error as error:
        raise explain(error, address.name, _TIMEOUT) from None
