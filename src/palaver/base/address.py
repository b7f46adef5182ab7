"""Addresses of stores: a path, or a Postgres server with the name of a space behind it."""

from __future__ import annotations

_SERVERS = ("postgresql://", "postgres://")
_NOT_IN_A_NAME = frozenset("@/?&=:")


def is_server(url: str) -> bool:
    return url.startswith(_SERVERS)


def split(url: str) -> tuple[str, str | None]:
    """`postgresql://host/database#acme` as its two halves. A # elsewhere belongs to the address."""
    address, mark, name = url.rpartition("#")
    return (address, name) if mark and not _NOT_IN_A_NAME & set(name) else (url, None)
