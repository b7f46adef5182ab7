"""A context within a budget: the newest exchanges that fit, no half of a tool call, and a sign when to compact."""

from __future__ import annotations

from typing import Any

import pytest

import palaver
from palaver.aisdk import budget

from .support import talk, talks


def one_each(_: dict[str, Any]) -> int:
    return 1


def by_parts(message: dict[str, Any]) -> int:
    return sum(part["type"] != "step-start" for part in message["parts"])


def words(messages: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for message in messages for part in message["parts"] if part["type"] == "text"]


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    return store.sessions.create()


def test_without_a_budget_everything_is_there(session: palaver.Session) -> None:
    talks(session, 1, 2)
    context = session.context()
    assert words(context) == ["q1", "a1", "q2", "a2"]
    assert (context.tokens, context.left_out, context.compaction_due) == (0, 0, False)


def test_the_newest_exchanges_that_fit_are_kept_whole(session: palaver.Session) -> None:
    talks(session, 1, 2, 3)
    context = session.context(max_tokens=5, count=one_each)
    assert words(context) == ["q2", "a2", "q3", "a3"]
    assert (context.tokens, context.left_out, context.compaction_due) == (4, 2, True)


def test_the_system_prompt_and_the_summary_always_stay(session: palaver.Session) -> None:
    ids = talks(session, 1, 2, 3)
    session.compact("what went before", keep_from=ids[1])
    context = session.context(system="Be brief.", max_tokens=4, count=one_each)
    assert words(context) == ["Be brief.", "what went before", "q3", "a3"]
    assert context.left_out == 2


def test_compaction_is_due_before_anything_is_left_out(session: palaver.Session) -> None:
    talks(session, 1, 2)
    assert session.context(max_tokens=5, count=one_each).compaction_due is False
    nearly = session.context(max_tokens=4, count=one_each)
    assert (nearly.left_out, nearly.compaction_due) == (0, True)


def test_an_exchange_that_is_too_much_is_cut_between_its_steps(session: palaver.Session) -> None:
    with session.turn("Go.") as turn:
        for n in range(3):
            turn.step()
            turn.text(f"step {n}")
            turn.tool("run", {"n": n}).output(f"done {n}")
        context = turn.context(max_tokens=4, count=by_parts)
        assert words(context) == ["Go.", "step 2"]
        assert [part["type"] for part in context[1]["parts"]] == ["step-start", "text", "tool-run"]
        assert (context.tokens, context.left_out) == (3, 1)
        assert words(turn.context(max_tokens=5, count=by_parts)) == ["Go.", "step 1", "step 2"]
        assert [m["role"] for m in turn.model_messages(max_tokens=4, count=by_parts)] == ["user", "assistant", "tool"]


def test_what_does_not_fit_at_all_is_said(session: palaver.Session) -> None:
    talk(session, "1", tool=True)
    with pytest.raises(palaver.ContextTooLarge, match="max_tokens is 1") as refused:
        session.context(max_tokens=1, count=by_parts)
    assert (refused.value.max_tokens, refused.value.needed) == (1, 2)
    with pytest.raises(palaver.ContextTooLarge):
        session.context(system="Be brief.", max_tokens=1, count=one_each)


@pytest.mark.parametrize("given", [{"max_tokens": 0}, {"max_tokens": "9"}, {"max_tokens": 1.5}, {"count": 7}])
def test_a_budget_is_a_whole_number_and_a_counter_a_function(session: palaver.Session, given: Any) -> None:
    with pytest.raises(palaver.BadValue):
        session.context(**given)


def test_an_empty_session_fits_into_any_budget(session: palaver.Session) -> None:
    assert session.context(max_tokens=1) == []


@pytest.mark.parametrize(
    ("part", "least", "most"),
    [
        ({"type": "text", "text": "The quick brown fox jumps over the lazy dog."}, 10, 20),  # 10 in cl100k
        ({"type": "text", "text": "今天天气很好，我们去公园散步吧。"}, 13, 25),
        ({"type": "file", "mediaType": "image/png", "url": "data:image/png;base64," + "A" * 100_000}, 1_000, 2_000),
        (
            {"type": "tool-run", "toolCallId": "c", "state": "output-available", "input": {}, "output": "x" * 300},
            100,
            140,
        ),
        ({"type": "step-start"}, 4, 4),
    ],
    ids=["English", "Chinese", "picture", "tool", "step"],
)
def test_the_estimate_is_rather_too_much_than_too_little(part: dict[str, Any], least: int, most: int) -> None:
    assert least <= budget.estimate({"id": "m", "role": "user", "parts": [part]}) <= most
