"""Values as a `state.db` has them, and as they are kept: what JSON can say, or nothing.

A column holds whatever was put into it. A BLOB where text belongs is that text; what is no UTF-8, or no number that
JSON has, is told.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .rows import Row
from .tables import Column

Tell = Callable[[str], None]
# Columns of later versions, as those declare them.
LATER_MESSAGES = {
    "effect_disposition": "TEXT",
    "reasoning_content": "TEXT",
    "codex_message_items": "TEXT",
    "platform_message_id": "TEXT",
    "observed": "INTEGER DEFAULT 0",
    "active": "INTEGER NOT NULL DEFAULT 1",
    "compacted": "INTEGER NOT NULL DEFAULT 0",
    "api_content": "TEXT",
}
LATER_SESSIONS = {
    **dict.fromkeys(("session_key", "chat_id", "chat_type", "thread_id", "display_name", "origin_json"), "TEXT"),
    "expiry_finalized": "INTEGER DEFAULT 0",
    **dict.fromkeys(("cwd", "git_branch", "git_repo_root"), "TEXT"),
    "api_call_count": "INTEGER DEFAULT 0",
    **dict.fromkeys(("handoff_state", "handoff_platform", "handoff_error"), "TEXT"),
    "compression_failure_cooldown_until": "REAL",
    "compression_failure_error": "TEXT",
    "compression_fallback_streak": "INTEGER NOT NULL DEFAULT 0",
    "profile_name": "TEXT",
    "rewind_count": "INTEGER NOT NULL DEFAULT 0",
    "archived": "INTEGER NOT NULL DEFAULT 0",
}
_DEFAULTS = {
    name: int(declared.rpartition(" ")[2])
    for name, declared in (LATER_MESSAGES | LATER_SESSIONS).items()
    if "DEFAULT" in declared
}


def said(row: Mapping[str, Any], columns: Iterable[Column], tell: Tell) -> Row:
    """What a row says: the columns that are neither NULL nor what a row has that says nothing."""
    defaults = {column.name: column.default for column in columns} | _DEFAULTS
    found = {name: plain(value, name, tell) for name, value in row.items()}
    return {name: value for name, value in found.items() if value is not None and value != defaults.get(name)}


def plain(value: Any, name: str, tell: Tell) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            tell(f"{name} is no UTF-8 at byte {error.start}; what is none is replaced by U+FFFD")
            return value.decode(errors="replace")
    if isinstance(value, float) and not math.isfinite(value):
        tell(f"{name} is {value}, which is no number that can be kept; it is left out")
        return None
    return value


def canonical(row: Mapping[str, Any]) -> bytes:
    """A row as bytes: the same for the same row, wherever it stands."""
    return json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def is_exact(seconds: Any, stamp: int | None) -> bool:
    """Whether the milliseconds say all of it."""
    return stamp is not None and stamp / 1000 == seconds
