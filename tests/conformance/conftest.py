"""The Postgres of the run."""

from ..postgres.conftest import _spaces, ready_space, server

__all__ = ["_spaces", "ready_space", "server"]
