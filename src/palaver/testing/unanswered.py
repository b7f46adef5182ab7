"""Turns that come whole but for the answers to their calls: written at once, answered by anyone, sealed by the last."""

from __future__ import annotations

from typing import Any

import palaver
from palaver import BadValue, Refused, Session

from .group import Group
from .helpers import refused, texts, tool_part, user


def calling(*call_ids: str, **about: Any) -> dict[str, Any]:
    """An answer that calls tools, which have not answered yet."""
    parts = [
        {"type": "tool-run", "toolCallId": each, "state": "input-available", "input": {"n": 1}} for each in call_ids
    ]
    return {"role": "assistant", "parts": [{"type": "text", "text": "Let me see."}, *parts], **about}


class Unanswered(Group):
    # ------------------------------------------------------------ it waits

    def test_a_turn_that_comes_whole_with_open_calls_waits(self, session: Session) -> None:
        turn = session.commit([user("Run it."), calling("c1")], status="waiting")
        assert (turn.status, turn.sealed_at, session.revision, session.path()) == ("waiting", None, 0, [])
        assert [each.id for each in session.waiting()] == [turn.id]
        assert (texts(session), tool_part(session)["state"]) == (["Run it.", "Let me see."], "input-available")

    def test_it_is_resumed_as_if_it_had_been_streamed(self, session: Session) -> None:
        turn = session.commit([user("Run it."), calling("c1")], status="waiting")
        with session.resume(turn.id) as resumed:
            resumed.resolve("c1", output="ran")
            resumed.text("It ran.")
        assert (resumed.status, texts(session)) == ("completed", ["Run it.", "Let me see.It ran."])
        assert [message["role"] for message in session.messages()] == ["user", "assistant"]

    def test_its_id_metadata_and_parts_come_back(self, session: Session) -> None:
        parts = [
            {"type": "reasoning", "text": "Hm.", "providerMetadata": {"mine": {"a": 1}}},
            {"type": "tool-run", "toolCallId": "c0", "state": "output-available", "input": 1, "output": [2]},
            {"type": "dynamic-tool", "toolName": "any", "toolCallId": "c1", "state": "input-available", "input": {}},
        ]
        session.commit([{"role": "assistant", "id": "mine", "metadata": {"k": 1}, "parts": parts}], status="waiting")
        (shown,) = session.messages()
        assert (shown["id"], shown["metadata"]) == ("mine", {"k": 1})
        thought, done, waits = shown["parts"]
        assert (thought["text"], thought["providerMetadata"]) == ("Hm.", {"mine": {"a": 1}})
        assert (done["output"], waits["toolName"], waits["state"]) == ([2], "any", "input-available")

    def test_if_the_user_moves_on_its_calls_end_as_interrupted(self, session: Session) -> None:
        session.commit([user("Run it."), calling("c1")], status="waiting")
        session.commit("Never mind.")
        assert texts(session) == ["Run it.", "Let me see.", "Never mind."]
        assert (tool_part(session)["state"], tool_part(session)["errorText"]) == ("output-error", "interrupted")
        assert session.waiting() == []

    def test_it_follows_the_revision_that_it_names(self, session: Session) -> None:
        session.commit("First.")
        with refused(session, palaver.HeadConflict):
            session.commit([calling("c1")], expected=0, status="waiting")
        session.commit([calling("c1")], expected=1, status="waiting")

    # ------------------------------------------------------------ its answers

    def test_the_last_answer_seals_it_if_that_is_asked_for(self, session: Session) -> None:
        turn = session.commit([user("Run it."), calling("c1", "c2")], status="waiting")
        assert session.resolve("c1", output="one", finish=True) == turn.id
        assert [each.status for each in session.waiting()] == ["waiting"]
        session.resolve("c2", error="no", finish=True)
        assert (session.waiting(), [each.status for each in session.path()]) == ([], ["completed"])
        assert (tool_part(session, "c1")["output"], tool_part(session, "c2")["errorText"]) == ("one", "no")
        assert session.revision == 1

    def test_without_that_it_goes_on_waiting_for_its_agent(self, session: Session) -> None:
        session.commit([user("Run it."), calling("c1")], status="waiting")
        session.resolve("c1", output="one")
        assert [each.status for each in session.waiting()] == ["waiting"]

    def test_if_the_head_moved_on_the_last_answer_seals_it_as_a_stray(self, session: Session) -> None:
        session.commit("First.")
        turn = session.commit([calling("c1")], status="waiting")
        session.move(None, expected=session.info.revision)
        session.resolve("c1", output=1, finish=True)
        assert (session.waiting(), [each.id for each in session.strays()]) == ([], [turn.id])

    def test_what_is_told_beside_a_result_is_kept_with_it(self, session: Session) -> None:
        session.commit([calling("c1")], status="waiting")
        session.resolve("c1", output=1, provider_metadata={"mine": {"took": 3}}, finish=True)
        assert tool_part(session)["resultProviderMetadata"] == {"mine": {"took": 3}}

    def test_a_call_that_waits_is_answered_from_outside_once(self, session: Session) -> None:
        session.commit([calling("c1")], status="waiting")
        session.resolve("c1", output=1, finish=True)
        with refused(session, Refused):
            session.resolve("c1", output=2, finish=True)

    # ------------------------------------------------------------ what is no such turn

    def test_a_turn_with_nothing_to_wait_for_is_refused(self, session: Session) -> None:
        done = {"type": "tool-run", "toolCallId": "c1", "state": "output-available", "input": 1, "output": 1}
        for given in (["Hello?"], [], [calling()], [{"role": "assistant", "parts": [done]}]):
            with refused(session, BadValue):
                session.commit(given, status="waiting")

    def test_two_parts_of_one_id_are_refused_and_not_lost(self, session: Session) -> None:
        data = {"type": "data-x", "id": "d", "data": 1}
        for parts in (calling("c1", "c1")["parts"], [*calling("c1")["parts"], data, data]):
            with refused(session, BadValue):
                session.commit([{"role": "assistant", "parts": parts}], status="waiting")

    def test_what_no_chunk_can_say_is_refused_and_not_lost(self, session: Session) -> None:
        odd = {"type": "text", "text": "x", "mine": 1}
        for part in (odd, {"type": "unheard-of"}, {"type": "tool-x", "toolCallId": "c2", "state": "output-denied"}):
            with refused(session, BadValue):
                answer = calling("c1")
                session.commit([{**answer, "parts": [*answer["parts"], part]}], status="waiting")

    def test_usage_is_told_when_it_goes_on(self, session: Session) -> None:
        with refused(session, BadValue):
            session.commit([calling("c1")], status="waiting", usage={"input": 1})
        answer = calling("c1", metadata={"usage": {"input": 7, "output": 1}})
        assert session.commit([answer], status="waiting").usage.input == 7
        assert session.info.usage.input == 7
