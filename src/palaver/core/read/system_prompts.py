"""System prompts: each text is stored once, under its digest."""

from __future__ import annotations

from ...db.engine import Tx
from .. import rows


def body(tx: Tx, digest: str) -> str | None:
    row = rows.system_prompt.one(tx, digest=digest)
    return row.body if row else None


def stored_body(tx: Tx, digest: str) -> str | None:
    """Of tool definitions and settings."""
    row = rows.body.one(tx, digest=digest)
    return row.body if row else None
