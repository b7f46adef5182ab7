"""The 29 methods and the constructor: names, order and defaults of what they take."""

from __future__ import annotations

import inspect
import json

import pytest

from .support import ours

EMPTY = inspect.Parameter.empty
SIGNATURES = {
    "append_message": (
        "session_id role content=null tool_name=null tool_calls=null tool_call_id=null token_count=null "
        "finish_reason=null reasoning=null reasoning_details=null codex_reasoning_items=null"
    ),
    "clear_messages": "session_id",
    "close": "",
    "create_session": (
        "session_id source model=null model_config=null system_prompt=null user_id=null parent_session_id=null"
    ),
    "delete_session": "session_id",
    "end_session": "session_id end_reason",
    "ensure_session": 'session_id source="unknown" model=null',
    "export_all": "source=null",
    "export_session": "session_id",
    "get_compression_tip": "session_id",
    "get_messages": "session_id",
    "get_messages_as_conversation": "session_id",
    "get_next_title_in_lineage": "base_title",
    "get_session": "session_id",
    "get_session_by_title": "title",
    "get_session_title": "session_id",
    "list_sessions_rich": (
        "source=null exclude_sources=null limit=20 offset=0 include_children=false project_compression_tips=true"
    ),
    "message_count": "session_id=null",
    "prune_sessions": "older_than_days=90 source=null",
    "reopen_session": "session_id",
    "resolve_session_by_title": "title",
    "resolve_session_id": "session_id_or_prefix",
    "sanitize_title": "title",
    "search_messages": "query source_filter=null exclude_sources=null role_filter=null limit=20 offset=0",
    "search_sessions": "source=null limit=20 offset=0",
    "session_count": "source=null",
    "set_session_title": "session_id title",
    "update_system_prompt": "session_id system_prompt",
    "update_token_counts": (
        "session_id input_tokens=0 output_tokens=0 model=null cache_read_tokens=0 cache_write_tokens=0 "
        "reasoning_tokens=0 estimated_cost_usd=null actual_cost_usd=null cost_status=null cost_source=null "
        "pricing_version=null billing_provider=null billing_base_url=null billing_mode=null absolute=false"
    ),
}


def parameters(text: str) -> list[tuple[str, object]]:
    pairs = [word.partition("=") for word in text.split()]
    return [(name, json.loads(value) if mark else EMPTY) for name, mark, value in pairs]


def test_there_are_29_of_them() -> None:
    assert len(SIGNATURES) == 29
    assert {name for name in SIGNATURES if not callable(getattr(ours(), name, None))} == set()


@pytest.mark.parametrize("method", sorted(SIGNATURES))
def test_a_method_takes_what_hermes_takes_and_perhaps_more_behind(method: str) -> None:
    taken = [p for p in inspect.signature(getattr(ours(), method)).parameters.values() if p.name != "self"]
    expected = parameters(SIGNATURES[method])
    assert [(p.name, p.default) for p in taken[: len(expected)]] == expected
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in taken[: len(expected)])
    more = taken[len(expected) :]
    assert all(p.default is not EMPTY or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in more)


def test_the_constructor_takes_a_path() -> None:
    taken = list(inspect.signature(ours()).parameters.values())
    assert (taken[0].name, taken[0].default) == ("db_path", None)
    assert all(p.default is not EMPTY for p in taken)


def test_a_title_is_cleaned_without_a_database() -> None:
    assert ours().sanitize_title(" a ") == "a"
