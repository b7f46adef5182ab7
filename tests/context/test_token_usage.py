"""Usage objects of the APIs, as they are: every token is counted once. The examples are written by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import palaver
from palaver import Usage
from palaver.db.queries import Q

SHAPES: dict[str, tuple[Any, Usage]] = {
    "AI SDK 6": (
        {
            "inputTokens": 1_000,
            "inputTokenDetails": {"noCacheTokens": 300, "cacheReadTokens": 600, "cacheWriteTokens": 100},
            "outputTokens": 50,
            "outputTokenDetails": {"textTokens": 30, "reasoningTokens": 20},
            "totalTokens": 1_050,
        },
        Usage(300, 30, 20, 600, 100),
    ),
    "AI SDK 5": (
        {"inputTokens": 100, "outputTokens": 50, "totalTokens": 150, "reasoningTokens": 20, "cachedInputTokens": 60},
        Usage(40, 30, 20, 60, 0),
    ),
    "AI SDK 5 of a provider that counts the cache apart": (
        {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "cachedInputTokens": 600},
        Usage(10, 5, 0, 600, 0),
    ),
    "AI SDK provider": (
        {
            "inputTokens": {"total": 10, "noCache": 4, "cacheRead": 6, "cacheWrite": None},
            "outputTokens": {"total": 9, "text": 7, "reasoning": 2},
        },
        Usage(4, 7, 2, 6, 0),
    ),
    "OpenAI chat": (
        {
            "prompt_tokens": 1_117,
            "completion_tokens": 46,
            "total_tokens": 1_163,
            "prompt_tokens_details": {"cached_tokens": 1_024, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 16, "audio_tokens": 0},
        },
        Usage(93, 30, 16, 1_024, 0),
    ),
    "OpenAI chat without details": (
        {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21, "prompt_tokens_details": None},
        Usage(9, 12),
    ),
    "OpenAI responses": (
        {
            "input_tokens": 328,
            "input_tokens_details": {"cached_tokens": 28},
            "output_tokens": 52,
            "output_tokens_details": {"reasoning_tokens": 40},
            "total_tokens": 380,
        },
        Usage(300, 12, 40, 28, 0),
    ),
    "Anthropic": (
        {
            "input_tokens": 21,
            "cache_creation_input_tokens": 188,
            "cache_read_input_tokens": 2_086,
            "output_tokens": 393,
            "service_tier": "standard",
        },
        Usage(21, 393, 0, 2_086, 188),
    ),
    "Anthropic without a cache": ({"input_tokens": 21, "output_tokens": 393}, Usage(21, 393)),
    "an object": (SimpleNamespace(prompt_tokens=9, completion_tokens=12), Usage(9, 12)),
}


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    return store.sessions.create()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_usage_object_is_counted_once(session: palaver.Session, shape: str) -> None:
    given, right = SHAPES[shape]
    with session.turn("Hello?") as turn:
        turn.text("Hi.")
        turn.usage(given, model="acme/large", cost_usd=0.5)
    assert (session.info.usage, session.path()[0].usage, session.info.cost_usd) == (right, right, 0.5)
    assert session.messages()[1]["metadata"]["usage"] == right.columns()


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "an object"])
def test_inside_a_messages_metadata_it_counts_the_same_and_stays_as_given(
    store: palaver.Store, session: palaver.Session, shape: str
) -> None:
    given, right = SHAPES[shape]
    with session.turn("Hello?") as turn:
        turn.write({"type": "start", "messageMetadata": {"usage": given}})
        turn.write({"type": "finish", "messageMetadata": {"usage": given}})
    session.commit(["And?", {"role": "assistant", "content": "So.", "metadata": {"usage": given}}])
    assert (session.info.usage, session.path()[0].usage) == (right + right, right)
    assert [m["metadata"]["usage"] for m in session.messages()[1::2]] == [given, given]
    assert store.verify() == []


@pytest.mark.parametrize("given", [7, "many", {}, {"tokens": 5}, {"input_tokens": "9"}, {"prompt_tokens": -1}, [1]])
def test_what_is_no_usage_object_is_refused(session: palaver.Session, given: Any) -> None:
    turn = session.turn("Hello?")
    with pytest.raises(palaver.BadValue, match="usage object"):
        turn.usage(given)
    with pytest.raises(palaver.BadValue, match="not both"):
        turn.usage({"input_tokens": 1}, output=1)
    assert session.info.usage == Usage()


def test_sums_that_an_older_version_left_are_no_problem(store: palaver.Store, session: palaver.Session) -> None:
    """Before the words of the APIs were known, such metadata counted as nothing."""
    session.commit(["Hi", {"role": "assistant", "content": "Ho", "metadata": {"usage": {"prompt_tokens": 5}}}])
    with store.db.write() as tx:
        tx.run(Q.set_rollups, session=session.id, total=0, **Usage().columns())
    assert [problem.rule for problem in store.verify()] == []
