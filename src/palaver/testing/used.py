"""Usage by response, and the facts of a turn: each is kept once, where a list can find it, and adds up."""

from __future__ import annotations

import json
from typing import Any

import pytest

import palaver
from palaver import Session, Store, Usage

from .group import Group
from .helpers import ask, assistant, refused, say, tell, user


class Used(Group):
    # ------------------------------------------------------------ a row for each response

    def test_each_call_of_usage_is_a_row_and_the_turn_is_their_sum(self, session: Session) -> None:
        with session.turn("Hello?", model="acme/large") as turn:
            say(turn)
            turn.usage(input=10, output=5, cost_usd=0.5, key="r-1")
            turn.usage(input=1, output=2, reasoning=3, model="acme/small")
        first, second = session.usage()
        assert (first.usage, first.cost_reported, first.key) == (Usage(10, 5), 0.5, "r-1")
        assert (second.usage, second.cost_reported, second.key) == (Usage(1, 2, 3), None, None)
        assert [(row.provider, row.model) for row in (first, second)] == [("acme", "large"), ("acme", "small")]
        assert {(row.turn_id, row.message_id, row.source) for row in (first, second)} == {
            (turn.id, turn.message_id, "turn")
        }
        assert session.path()[0].usage == session.info.usage == Usage(11, 7, 3)

    def test_the_same_key_counts_once(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.usage(input=10, cost_usd=0.5, key="r-1")
            turn.usage(input=10, cost_usd=0.5, key="r-1")
        assert (len(session.usage()), session.info.usage, session.info.cost_usd) == (1, Usage(10), 0.5)

    @pytest.mark.parametrize("other", [{"input": 11}, {"input": 10, "output": 1}, {"input": 10, "cost_usd": 1.0}])
    def test_the_same_key_with_other_counts_is_refused(self, session: Session, other: dict[str, Any]) -> None:
        turn = session.turn("Hello?")
        turn.usage(input=10, cost_usd=0.5, key="r-1")
        with refused(session, palaver.UsageKeyTaken):
            turn.usage(**other, key="r-1")
        assert session.info.usage == Usage(10)

    def test_what_a_stream_says_of_itself_is_one_row_that_is_replaced(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.write({"type": "start", "messageMetadata": {"usage": {"input": 3}}})
            turn.write({"type": "finish", "messageMetadata": {"usage": {"input": 3, "output": 9}}})
        [row] = session.usage()
        assert (row.source, row.usage, row.message_id) == ("metadata", Usage(3, 9), turn.message_id)

    def test_answers_that_come_whole_have_a_row_each(self, session: Session) -> None:
        session.commit([user("Hi"), _used("One", 1), _used("Two", 2)], model="acme/large")
        first, second = session.usage()
        assert [row.usage for row in (first, second)] == [Usage(output=1), Usage(output=2)]
        assert (first.message_id, second.message_id) == tuple(m["id"] for m in session.messages()[1:])
        assert (first.model, session.path()[0].usage) == ("large", Usage(output=3))

    def test_a_commit_says_what_it_used(self, session: Session) -> None:
        turn = session.commit(tell("Hi", "Ho"), usage={"input_tokens": 7, "output_tokens": 2}, cost_usd=0.25)
        assert (turn.usage, turn.cost_usd) == (Usage(7, 2), 0.25)
        assert (session.info.usage, session.info.cost_usd) == (Usage(7, 2), 0.25)
        assert session.messages()[1]["metadata"]["usage"] == Usage(7, 2).columns()
        [row] = session.usage()
        assert (row.message_id, row.cost_reported) == (turn.response_id, 0.25)

    def test_a_commit_without_an_answer_has_usage_that_is_no_messages(self, session: Session) -> None:
        turn = session.commit("Hi", usage=Usage(7))
        assert (turn.usage, session.info.usage) == (Usage(7), Usage())
        [row] = session.usage()
        assert (row.turn_id, row.message_id) == (turn.id, None)

    def test_a_commit_is_told_once_what_its_answer_used(self, session: Session) -> None:
        with refused(session, palaver.BadValue):
            session.commit(["Hi", _used("Ho", 1)], usage=Usage(1))

    # ------------------------------------------------------------ the session as a whole

    def test_usage_of_the_session_itself_is_listed_and_in_no_sum(self, session: Session) -> None:
        session.add_usage({"prompt_tokens": 5}, model="acme/small", cost_usd=0.1, source="titles")
        session.add_usage(Usage(1), computed_usd=0.2, price="2026-11", key="day-1")
        first, second = session.usage()
        assert (first.usage, first.source, first.model, first.turn_id) == (Usage(5), "titles", "small", None)
        assert (second.source, second.cost_reported, second.cost_computed, second.price) == (
            "app",
            None,
            0.2,
            "2026-11",
        )
        assert (session.info.usage, session.info.cost_usd) == (Usage(), 0.0)

    def test_usage_under_a_key_counts_once_or_is_replaced(self, session: Session) -> None:
        for _ in range(2):
            session.add_usage(Usage(5), key="total")
        with refused(session, palaver.UsageKeyTaken):
            session.add_usage(Usage(6), key="total")
        session.add_usage(Usage(3), key="total", replace=True)
        assert [row.usage for row in session.usage()] == [Usage(3)]

    @pytest.mark.parametrize("source", ["turn", "metadata", "", 7])
    def test_the_words_of_turns_are_not_for_others(self, session: Session, source: Any) -> None:
        with refused(session, palaver.BadValue):
            session.add_usage(Usage(1), source=source)

    def test_the_size_of_the_context_is_what_the_newest_answer_was_given_and_gave(self, session: Session) -> None:
        assert session.context_tokens is None
        with session.turn("Hello?") as turn:
            turn.usage(input=100, output=10, reasoning=50)
            turn.usage(input=20, cache_read=110, cache_write=3, output=7, reasoning=9)
        assert session.context_tokens == 140
        ask(session, "And?", "So.")  # nobody told
        assert session.context_tokens == 140
        first = session.path()[0]
        with session.turn("More?") as turn:
            turn.usage(input=500)
        assert session.context_tokens == 500
        session.rewind(first.id)
        assert session.context_tokens == 140

    # ------------------------------------------------------------ facts of a turn

    def test_a_turn_says_how_it_worked(self, store: Store, session: Session) -> None:
        tools = [{"name": "look", "input_schema": {"type": "object"}}, {"type": "function", "function": {"name": "go"}}]
        manner: dict[str, Any] = {
            "role": "critic",
            "persona": "grumpy",
            "workspace": "/src",
            "mode": "plan",
            "source_event": "e-7",
        }
        ask(session, "Hello?", "Hi.", tools=tools, settings={"temperature": 0.5}, **manner)
        [turn] = session.path()
        assert {name: getattr(turn, name) for name in manner} == manner
        assert turn.tools == ["look", "go"]
        assert turn.tool_definitions is not None and json.loads(store.body(turn.tool_definitions) or "") == tools
        assert turn.settings is not None and store.body(turn.settings) == '{"temperature":0.5}'
        again = session.commit("Again", tools=tools)
        assert again.tool_definitions == turn.tool_definitions
        assert store.body("0" * 64) is None

    @pytest.mark.parametrize("tools", [[7], [{}], [{"function": {}}], "look"])
    def test_a_tool_has_a_name(self, session: Session, tools: Any) -> None:
        with refused(session, palaver.BadValue):
            session.commit("Hi", tools=tools)

    # ------------------------------------------------------------ ended

    def test_a_session_ends_and_is_reopened(self, session: Session) -> None:
        with refused(session, palaver.BadValue):
            session.end("")
        session.end("done")
        info = session.info
        assert (info.end_reason, info.ended_at is not None) == ("done", True)
        session.end("done")
        with refused(session, palaver.Refused):
            session.end("again")
        assert (session.info.end_reason, session.info.ended_at) == ("done", info.ended_at)
        ask(session)  # it can go on all the same
        session.reopen()
        assert (session.info.ended_at, session.info.end_reason) == (None, None)
        assert [event.kind for event in session.events() if event.kind in ("end", "reopen")] == ["end", "reopen"]

    def test_a_session_knows_when_it_last_got_a_message(self, store: Store, session: Session) -> None:
        assert session.info.last_message_at is None
        ask(session)
        at = session.info.last_message_at
        assert at is not None and abs(at - session.transcript()[-1].created_at) < 60_000
        assert session.fork().info.last_message_at is None


def _used(text: str, tokens: int) -> dict[str, Any]:
    return {**assistant(text), "metadata": {"usage": {"output": tokens}}}
