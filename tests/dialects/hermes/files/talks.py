"""A file in which everything occurs that a `state.db` may hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .files import Said, T, calls, made, session

PICTURE = "\x00json:" + json.dumps(
    [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
)


def rows_of_6() -> list[dict[str, Any]]:
    said = Said()
    said("system", "You are helpful.")
    said("user", "Zeile eins\nZeile zwei\r\n你好,世界 \U0001f600")
    said("assistant", "", tool_calls=calls("a", "b"), finish_reason="tool_calls", token_count=2**40)
    said("tool", "second first", tool_call_id="b", tool_name="terminal")
    said("tool", "", tool_call_id="a", tool_name="terminal")
    said("assistant", "Done.", finish_reason="stop", token_count=0)
    said("user", "")
    said("assistant", None, tool_calls=calls("c"))
    said("user", PICTURE)
    said("tool", "nobody asked", tool_call_id="zzz", tool_name="ghost")
    said("assistant", "A \x00 NUL, and 'quotes'", reasoning="Hm.", timestamp=T + 100.123456)
    said("narrator", "an unusual role", timestamp=T + 100.123457)
    said("assistant", "same time", timestamp=T + 100.123457)
    said("user", "before its time", timestamp=T + 3)
    said("assistant", None, tool_calls='[{"id": "d", "function": {"name": "x", "arguments": {"a": 1}}}]')
    said("tool", None, tool_call_id="d")
    said("assistant", None, tool_calls="not JSON")
    said("assistant", "\x00json:{not}", finish_reason="")
    return said.rows


def details() -> list[dict[str, Any]]:
    said = Said("s2", T + 50)
    said("assistant", "I begin.", reasoning="", reasoning_details='[{"type": "x",  "n": 1.0}]')
    said("user", "So?")
    said("assistant", "So.", reasoning="Because.", codex_reasoning_items='[{"id": "rs_1"}]', reasoning_details="broken")
    return said.rows


def sessions_of_6() -> list[dict[str, Any]]:
    prompt = "You are Hermes.\nBe kind. 你好"
    return [
        session("s2", parent_session_id="s1", source="telegram", user_id="u-7", started_at=T + 50, model="gpt-5"),
        session(
            title="Fix Docker Build",
            model="anthropic/claude-sonnet-4.6",
            model_config='{"max_iterations": 90}',
            system_prompt=prompt,
            started_at=T + 0.123456,
            ended_at=T + 999.5,
            end_reason="compression",
            input_tokens=1200,
            output_tokens=345,
            cache_read_tokens=2**40,
            cache_write_tokens=7,
            reasoning_tokens=8,
            billing_provider="anthropic",
            billing_base_url="https://api.example",
            billing_mode="subscription",
            estimated_cost_usd=0.123456789,
            actual_cost_usd=0.0,
            cost_status="estimated",
            cost_source="table",
            pricing_version="2026-01",
        ),
        session("empty", system_prompt="Alone.", user_id="", model="/odd", started_at=T + 51),
    ]


def of_2(path: Path) -> Path:
    known = {"id", "session_id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp"}
    known |= {"token_count", "finish_reason"}
    rows = [{name: value for name, value in row.items() if name in known} for row in rows_of_6()]
    return made(path, [session(system_prompt="Old.")], rows, 2)


def of_5(path: Path) -> Path:
    rows = [{name: value for name, value in row.items() if name != "reasoning"} for row in rows_of_6()]
    sessions = [one for one in sessions_of_6() if one["id"] == "s1"]
    return made(path, sessions, rows, 5)


def of_6(path: Path) -> Path:
    return made(path, sessions_of_6(), rows_of_6() + details())


def of_22(path: Path) -> Path:
    """Rows that were taken back, one time after the other, and rows that were summarised."""
    said = Said()
    said("user", "one", active=0, compacted=1, platform_message_id="m-1")
    said("assistant", "1", active=0, compacted=1, tool_calls=calls("a"))
    said("tool", "r", tool_call_id="a", tool_name="terminal", active=0, compacted=1, effect_disposition="none")
    said("user", "summary", observed=1)
    said("assistant", "ok", reasoning_content="", api_content="sent")
    said("user", "taken back", active=0)
    said("assistant", "also", active=0, tool_calls=calls("b"))
    said("user", "and this", active=0)
    said("user", "instead", codex_message_items="[1]")
    said("assistant", "yes", mood="new")
    said("assistant", "not this", active=0)
    said("assistant", "but this")
    said("user", "taken back at the end", active=0)
    about = session(
        model="m/a", cwd="/home/me", archived=1, rewind_count=3, api_call_count=4, weather="fine", input_tokens=10
    )
    used = [
        {"session_id": "s1", "model": "m/a", "input_tokens": 6, "estimated_cost_usd": 0.5},
        {"session_id": "s1", "model": "m/b", "input_tokens": 2, "billing_provider": "x"},
        {"session_id": "s1", "model": "m/b", "input_tokens": 1},
        {"session_id": "s1", "model": "v", "input_tokens": 100, "task": "vision"},
    ]
    more = {"sessions": {"weather": "TEXT DEFAULT 'rain'"}, "messages": {"mood": "TEXT"}}
    gone = Said("gone")("user", "all of it", active=0)
    found = [about | {"estimated_cost_usd": 0.5}, session("gone", weather="rain")]
    return made(path, found, said.rows + gone.rows, 22, used, more)


FILES = {"2": of_2, "5": of_5, "6": of_6, "22": of_22}
