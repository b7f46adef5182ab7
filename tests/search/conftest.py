"""The Postgres of the run."""

from ..postgres.conftest import dsn, server

__all__ = ["dsn", "server"]
