"""What the claims about `SessionDB` have in common."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from palaver.base import clock as palavers

WITNESS = os.environ.get("PALAVER_HERMES")
DAY = 86_400.0


def words(text: str) -> list[str]:
    return text.split()


SESSION_COLUMNS = words(
    "id source user_id model model_config system_prompt parent_session_id started_at ended_at end_reason "
    "message_count tool_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens "
    "billing_provider billing_base_url billing_mode estimated_cost_usd actual_cost_usd cost_status cost_source "
    "pricing_version title"
)
MESSAGE_COLUMNS = words(
    "id session_id role content tool_call_id tool_calls tool_name timestamp token_count finish_reason reasoning "
    "reasoning_details codex_reasoning_items"
)
HIT_KEYS = words("id session_id role snippet timestamp tool_name source model session_started context")


def ours() -> Any:
    return importlib.import_module("palaver.dialects.hermes").SessionDB


@cache
def witness() -> Any:
    """The real class. It keeps what it keeps beside its files in a folder that goes with this process."""
    assert WITNESS is not None
    folder = tempfile.TemporaryDirectory(prefix="palaver-witness-")
    witness.folder = folder  # type: ignore[attr-defined]
    before = os.environ.get("HERMES_HOME")
    os.environ["HERMES_HOME"] = folder.name
    sys.path.append(WITNESS)
    try:
        return importlib.import_module("hermes_state").SessionDB
    finally:
        sys.path.remove(WITNESS)
        if before is None:
            del os.environ["HERMES_HOME"]
        else:
            os.environ["HERMES_HOME"] = before


class Clock:
    """The clock of both, turned ahead. It never goes back: what was written has its time."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        real, real_ns = time.time, time.time_ns
        patch.setattr(time, "time", lambda: real() + self.ahead)
        patch.setattr(time, "time_ns", lambda: real_ns() + round(self.ahead * 1e9))
        patch.setattr(palavers, "_now_ns", lambda: real_ns() + round(self.ahead * 1e9))

    def turn(self, *, days: float = 0.0, seconds: float = 0.0) -> None:
        self.ahead += days * DAY + seconds


def call(id: str = "call_1", name: str = "terminal", arguments: str = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def contents(db: Any, session_id: str) -> list[Any]:
    return [row["content"] for row in db.get_messages(session_id)]


def roles(db: Any, session_id: str) -> list[str]:
    return [row["role"] for row in db.get_messages(session_id)]


def counts(db: Any, session_id: str) -> tuple[int, int]:
    row = db.get_session(session_id)
    return row["message_count"], row["tool_call_count"]


def found(db: Any, query: str, **how: Any) -> set[str]:
    """The sessions in which a search finds something."""
    return {hit["session_id"] for hit in db.search_messages(query, **how)}


def said(db: Any, *texts: str, source: str = "cli") -> None:
    """Sessions s0, s1, … each with one thing that a user said."""
    for number, text in enumerate(texts):
        db.create_session(f"s{number}", source)
        db.append_message(f"s{number}", "user", text)


def compressed(db: Any, clock: Clock, *ids: str, source: str = "cli", say: Callable[[str], str] | None = None) -> None:
    """A conversation that was compressed over and over: each session is the child of the one before."""
    for number, id in enumerate(ids):
        db.create_session(id, source, parent_session_id=ids[number - 1] if number else None)
        if say:
            db.append_message(id, "user", say(id))
        if number < len(ids) - 1:
            clock.turn(seconds=1)
            db.end_session(id, "compression")
            clock.turn(seconds=1)


def rows_of(db: Any, **how: Any) -> list[str]:
    return [row["id"] for row in db.list_sessions_rich(**how)]
