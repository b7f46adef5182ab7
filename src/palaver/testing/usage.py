"""Usage and what was in force: tokens are counted once, never fall, and cost nothing unless somebody says so."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

import palaver
from palaver import Session, Store, Usage, UsageConflict

from .group import Group
from .helpers import ask, assistant, refused, say, user


class Usages(Group):
    def test_the_costs_of_a_turn_are_those_of_its_responses(self, store: Store, session: Session) -> None:
        with session.turn("How much?") as turn:
            for cost in (0.1, 0.2, 1e-7):
                turn.usage(input=1, cost_usd=cost)
            turn.usage(output=1)
        assert [entry.cost_reported for entry in session.usage()] == [0.1, 0.2, 1e-7, None]
        assert store.verify() == []

    # ------------------------------------------------------------ told by turn.usage

    def test_usage_adds_up_in_turn_message_and_session(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            say(turn)
            turn.usage(input=10, output=5, reasoning=1, cache_read=100, cache_write=20)
            turn.usage(input=1, output=2)
        total = Usage(input=11, output=7, reasoning=1, cache_read=100, cache_write=20)
        assert (session.path()[0].usage, session.info.usage, session.info.total_tokens) == (total, total, 139)
        assert session.messages()[1]["metadata"] == {
            "usage": {"input": 11, "output": 7, "reasoning": 1, "cache_read": 100, "cache_write": 20}
        }
        assert session.path()[0].thread_tokens == 139

    def test_usage_is_seen_at_once_and_before_any_chunk(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.usage(input=10)
        assert session.info.usage == Usage(input=10)
        say(turn)
        assert session.messages()[1]["metadata"]["usage"]["input"] == 10

    def test_tokens_of_a_thread_add_up_along_the_path(self, session: Session) -> None:
        for n in (1, 2, 3):
            with session.turn("Hello?") as turn:
                turn.usage(output=n)
        assert [t.thread_tokens for t in session.path()] == [1, 3, 6]
        assert session.info.usage == Usage(output=6)

    @pytest.mark.parametrize("count", [-1, 1.5, "7", True], ids=repr)
    def test_token_counts_are_whole_numbers(self, session: Session, count: Any) -> None:
        turn = session.turn("Hello?")
        for given in ({"input": count}, {"told": Usage(input=count)}):
            with refused(session, palaver.BadValue):
                turn.usage(**given)

    # ------------------------------------------------------------ numbers that nobody can have counted to

    @pytest.mark.parametrize("count", [2**53 + 1, 2**63 - 1, 2**63, 2**70, -(2**63)], ids=repr)
    def test_a_count_that_no_sum_can_hold_is_refused(self, session: Session, count: int) -> None:
        turn = session.turn("Hello?")
        with refused(session, palaver.BadValue):
            turn.usage(output=count)
        with refused(session, palaver.BadValue):
            turn.write({"type": "message-metadata", "messageMetadata": {"usage": {"output": count}}})
        with refused(session, palaver.BadValue):
            session.commit(assistant("Hi.", metadata={"usage": {"output": count}}))
        with refused(session, palaver.BadValue):
            session.compact("so far", summarization_output_tokens=count)

    @pytest.mark.parametrize(
        "cost", [-0.01, float("nan"), float("inf"), 1e308, "0.5", True, [1], 10**400, None], ids=lambda c: repr(c)[:12]
    )
    def test_a_cost_is_a_number_of_dollars(self, session: Session, cost: Any) -> None:
        turn = session.turn("Hello?")
        if cost is None:
            turn.usage(cost_usd=None)
            turn.usage(cost_usd=2)
            assert session.info.cost_usd == 2.0
        else:
            with refused(session, palaver.BadValue):
                turn.usage(cost_usd=cost)

    def test_a_sum_that_would_not_hold_is_refused_and_the_session_goes_on(self, store: Store, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.usage(input=2**53)
            with refused(session, palaver.BadValue):
                turn.usage(output=1)
        with session.turn("And?") as turn:
            with refused(session, palaver.BadValue):
                turn.usage(input=5)
            say(turn)
        with refused(session, palaver.BadValue):
            session.commit(assistant("Hi.", metadata={"usage": {"output": 1}}))
        with session.regenerate() as turn, refused(session, palaver.BadValue):
            turn.usage(cache_read=2**52)
        assert session.info.total_tokens == 2**53
        assert store.verify() == []

    def test_tokens_of_an_answer_that_comes_with_the_question_are_in_the_sums(
        self, store: Store, session: Session
    ) -> None:
        before = assistant("Hi.", metadata={"usage": {"input": 5, "output": 7}})
        with session.turn([user("Hello?"), before, user("And?")]) as turn:
            turn.usage(output=1)
        assert session.info.usage == Usage(input=5, output=8)
        assert store.verify() == []

    # ------------------------------------------------------------ told by the stream

    def test_usage_in_the_metadata_is_counted_once(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.write({"type": "start", "messageMetadata": {"usage": {"input": 10, "output": 1}}})
            turn.write({"type": "message-metadata", "messageMetadata": {"usage": {"input": 10, "output": 1}}})
            assert session.info.usage == Usage(input=10, output=1)
            turn.write({"type": "finish", "messageMetadata": {"usage": {"input": 10, "output": 7}}})
        assert session.messages()[1]["metadata"] == {"usage": {"input": 10, "output": 7}}
        assert (session.path()[0].usage, session.info.usage) == (Usage(input=10, output=7),) * 2

    def test_usage_of_a_committed_answer_is_counted(self, session: Session) -> None:
        given = {"usage": {"input": 3, "output": 4}}
        info = session.commit([user("Hello?"), assistant("Hi.", metadata=given)])
        assert (info.usage, session.info.usage) == (Usage(input=3, output=4),) * 2
        assert session.messages()[1]["metadata"] == given

    def test_usage_is_told_in_one_way_only(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.write({"type": "start", "messageMetadata": {"usage": {"input": 10}}})
        with refused(session, UsageConflict) as caught:
            turn.usage(input=10)
        assert caught.value.turn_id == turn.id
        turn.seal()
        assert session.info.usage == Usage(input=10)

    # ------------------------------------------------------------ cost

    def test_no_cost_is_ever_computed(self, session: Session) -> None:
        with session.turn("Hello?", model="openai/gpt-4o") as turn:
            turn.usage(input=1_000_000, output=1_000_000, model="openai/gpt-4o")
        assert (session.info.cost_usd, session.path()[0].cost_usd) == (0, 0)

    def test_a_cost_that_was_told_adds_up(self, session: Session) -> None:
        for _ in range(2):
            with session.turn("Hello?") as turn:
                turn.usage(input=1, cost_usd=0.25)
                turn.usage(input=1, cost_usd=0.5)
        assert ([t.cost_usd for t in session.path()], session.info.cost_usd) == ([0.75, 0.75], 1.5)

    # ------------------------------------------------------------ the session's sums

    def test_sums_never_fall_when_the_head_moves(self, session: Session) -> None:
        for _ in range(2):
            with session.turn("Hello?") as turn:
                say(turn)
                turn.usage(input=10, output=5, cost_usd=0.1)
        spent = (Usage(input=20, output=10), 30, 0.2)
        session.rewind(to=session.path()[0])
        assert (session.info.usage, session.info.total_tokens, session.info.cost_usd) == spent
        session.undo()
        with session.regenerate() as turn:
            turn.usage(input=1)
        assert session.info.usage == Usage(input=21, output=10)
        session.delete()
        assert session.info.usage == Usage(input=21, output=10)

    def test_the_tokens_of_a_stray_were_spent(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.usage(input=10)
        session.commit(user("first"))
        with pytest.raises(palaver.HeadConflict):
            turn.seal()
        assert session.info.usage == Usage(input=10)

    def test_a_fork_counts_its_own_tokens_only(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.usage(input=10)
        fork = session.fork()
        assert fork.info.usage == Usage()
        with fork.turn("More.") as turn:
            turn.usage(input=3)
        assert (fork.info.usage, session.info.usage) == (Usage(input=3), Usage(input=10))
        assert fork.path()[-1].thread_tokens == 13

    # ------------------------------------------------------------ what was in force

    def test_the_session_shows_the_model_of_its_latest_turn(self, store: Store) -> None:
        session = store.sessions.create(agent="coder", model="acme/m-1")
        assert session.info.model == {"provider_id": "acme", "model_id": "m-1"}
        ask(session, model={"provider_id": "acme", "model_id": "m-2", "variant": "fast"})
        assert session.info.model == {"provider_id": "acme", "model_id": "m-2", "variant": "fast"}
        ask(session)
        assert session.info.model["model_id"] == "m-2"
        with session.turn("Hello?") as turn:
            turn.usage(input=1, model="acme/m-3")
        assert session.info.model == {"provider_id": "acme", "model_id": "m-3"}

    def test_model_and_agent_of_a_turn_are_in_its_messages(self, session: Session) -> None:
        ask(session, model="acme/m-2", agent="reviewer")
        in_force = {"model": {"provider_id": "acme", "model_id": "m-2"}, "agent": "reviewer"}
        assert [m["metadata"] for m in session.messages()] == [in_force, in_force]
        assert session.info.agent == "coder"

    def test_a_new_answer_by_another_model_leaves_the_question_as_it_was(self, session: Session) -> None:
        ask(session, user("Hello?", id="q-1"), model="acme/m-1")
        with session.regenerate(model="acme/m-2", agent="reviewer") as turn:
            say(turn)
        question, answered = session.messages()
        assert question["metadata"] == {"model": {"provider_id": "acme", "model_id": "m-1"}}
        assert answered["metadata"]["model"] == {"provider_id": "acme", "model_id": "m-2"} == session.info.model
        with session.edit("q-1", "Bye?", model="acme/m-3") as turn:
            say(turn)
        assert [m["metadata"]["model"]["model_id"] for m in session.messages()] == ["m-3", "m-3"]

    def test_the_tokens_of_an_answer_that_takes_a_questions_place_are_counted(self, session: Session) -> None:
        ask(session, user("Hello?", id="q-1"))
        with session.edit("q-1", assistant("Bye.", metadata={"usage": {"input": 5, "output": 7}})):
            pass
        assert session.info.usage == Usage(input=5, output=7)
        assert [entry.usage for entry in session.usage()] == [Usage(input=5, output=7)]

    def test_a_model_is_named_with_its_provider(self, session: Session) -> None:
        with refused(session, palaver.BadValue):
            session.turn("Hello?", model={"name": "m-1"})

    def test_a_system_prompt_is_kept_once_under_its_digest(self, store: Store, session: Session) -> None:
        prompt = "You are brief.\nYou are kind.\t✓"
        digest = sha256(prompt.encode()).hexdigest()
        for _ in range(2):
            ask(session, system_prompt=prompt)
        assert [m["metadata"]["system_prompt_digest"] for m in session.messages()[1::2]] == [digest, digest]
        assert store.system_prompt(digest) == prompt
        assert store.system_prompt("0" * 64) is None

    def test_a_trigger_comes_back_as_it_was_given(self, session: Session) -> None:
        odd = {"at": [1.5, None, "é"], "z": 1, "a": 2}
        trigger = {"source": "cron", "fired_at": 1_790_000_000_000, "delivery_id": "d-1", "payload": odd}
        ask(session, "Nightly run.", trigger=trigger)
        assert session.messages()[0]["metadata"] == {"trigger": trigger}
        assert "metadata" not in session.messages()[1]

    def test_a_snapshot_id_is_kept_with_the_question(self, session: Session) -> None:
        ask(session, user("Hello?", metadata={"mine": 1}), snapshot_id="snap-1")
        assert session.messages()[0]["metadata"] == {"mine": 1, "snapshot_id": "snap-1"}
