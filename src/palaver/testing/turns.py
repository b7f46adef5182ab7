"""Turns: begin makes the user's words durable, sealing puts them on the path, a block seals when it is left."""

from __future__ import annotations

from typing import Any

import pytest

import palaver
from palaver import Session, TurnSealed

from .group import Group
from .helpers import ask, assistant, call, ids_of, refused, say, tell, texts, user


class Turns(Group):
    # ------------------------------------------------------------ begin

    def test_what_the_user_said_is_visible_as_soon_as_the_turn_begins(self, session: Session) -> None:
        session.turn("Hello?")
        [message] = session.messages()
        assert message["role"] == "user"
        assert message["parts"] == [{"type": "text", "text": "Hello?"}]

    @pytest.mark.parametrize(
        "given",
        [
            "Hello?",
            {"role": "user", "parts": [{"type": "text", "text": "Hello?"}]},
            {"content": "Hello?"},
            [{"role": "user", "content": "Hello?"}],
            b'{"role":"user","parts":[{"type":"text","text":"Hello?"}]}',
            palaver.Raw(b'{"content":"Hello?"}'),
        ],
        ids=["text", "dict", "content", "list", "JSON bytes", "Raw"],
    )
    def test_a_message_may_be_text_a_dict_a_list_or_json(self, session: Session, given: Any) -> None:
        session.turn(given)
        [message] = session.messages()
        assert (message["role"], message["parts"]) == ("user", [{"type": "text", "text": "Hello?"}])

    def test_several_messages_begin_a_turn_in_their_order(self, session: Session) -> None:
        session.turn([{"role": "system", "content": "Be brief."}, "Hello?", "Anybody?"])
        assert [m["role"] for m in session.messages()] == ["system", "user", "user"]
        assert texts(session) == ["Be brief.", "Hello?", "Anybody?"]

    def test_a_turn_may_begin_without_a_message(self, session: Session) -> None:
        with session.turn() as turn:
            assert session.messages() == []
            say(turn, "Good morning.")
        assert texts(session) == ["Good morning."]

    def test_the_assistant_message_appears_with_its_first_chunk(self, session: Session) -> None:
        turn = session.turn("Hello?")
        assert (turn.message_id, len(session.messages())) == (None, 1)
        turn.write({"type": "start"})
        assert (turn.message_id, session.messages()[1]) == (
            session.messages()[1]["id"],
            {"id": turn.message_id, "role": "assistant", "parts": []},
        )

    def test_a_turn_that_streamed_nothing_has_no_assistant_message(self, session: Session) -> None:
        session.turn("Hello?").seal()
        assert [m["role"] for m in session.messages()] == ["user"]

    def test_an_open_turn_is_read_but_not_on_the_path(self, session: Session) -> None:
        turn = session.turn("Hello?")
        say(turn, "Hi.")
        assert (texts(session), session.path(), session.revision) == (["Hello?", "Hi."], [], 0)
        assert (turn.status, session.info.turn_id) == ("streaming", None)
        turn.seal()
        assert (texts(session), session.revision) == (["Hello?", "Hi."], 1)
        assert [t.id for t in session.path()] == [turn.id] == [session.info.turn_id]

    # ------------------------------------------------------------ seal

    @pytest.mark.parametrize("status", ["completed", "failed", "aborted"])
    def test_a_turn_is_sealed_as_what_it_became(self, session: Session, status: str) -> None:
        turn = session.turn("Hello?")
        turn.seal(status)
        assert (turn.status, session.path()[0].status) == (status, status)
        assert session.path()[0].sealed_at is not None

    @pytest.mark.parametrize("status", ["streaming", "waiting", "pending", "done"])
    def test_no_other_word_seals_a_turn(self, session: Session, status: str) -> None:
        turn = session.turn("Hello?")
        with refused(session, palaver.BadValue):
            turn.seal(status)
        assert turn.status == "streaming"
        turn.seal()
        assert turn.status == "completed"

    @pytest.mark.parametrize("verb", ["write", "append", "usage", "wait", "seal", "abort"])
    def test_a_sealed_turn_takes_nothing_more(self, session: Session, verb: str) -> None:
        turn = ask(session)
        given: dict[str, list[Any]] = {"write": [{"type": "start"}], "append": [[{"type": "start"}]]}
        with refused(session, TurnSealed) as caught:
            getattr(turn, verb)(*given.get(verb, []))
        assert (caught.value.turn_id, caught.value.status, caught.value.late) == (turn.id, "completed", None)

    def test_sealed_turns_form_a_chain_of_digests(self, session: Session) -> None:
        turns = [ask(session, f"question {n}") for n in range(3)]
        path = session.path()
        assert [t.id for t in path] == [t.id for t in turns]
        assert [t.parent_id for t in path] == [None, turns[0].id, turns[1].id]
        assert [t.depth for t in path] == [1, 2, 3]
        assert [t.thread_messages for t in path] == [2, 4, 6]
        assert len({t.digest for t in path}) == 3
        assert all(t.digest is not None and len(t.digest) == 32 for t in path)

    def test_abort_closes_tools_as_interrupted_and_texts_as_done(self, session: Session) -> None:
        turn = session.turn("Run it.")
        call(turn, "c1", "run", {"cmd": "ls"})
        turn.write({"type": "text-start", "id": "t"})
        turn.write({"type": "text-delta", "id": "t", "delta": "I am"})
        turn.abort()
        assert turn.status == "aborted"
        assert session.messages()[1]["parts"][1:] == [
            {
                "type": "tool-run",
                "toolCallId": "c1",
                "state": "output-error",
                "input": {"cmd": "ls"},
                "errorText": "interrupted",
            },
            {"type": "text", "text": "I am", "state": "done"},
        ]

    def test_a_completed_turn_has_no_tool_without_a_result(self, session: Session) -> None:
        turn = call(session.turn("Run it."))
        turn.seal("completed")
        part = session.messages()[1]["parts"][1]
        assert (part["state"], part["errorText"]) == ("output-error", "interrupted")

    # ------------------------------------------------------------ the block

    def test_leaving_the_block_completes_the_turn(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            say(turn)
        assert (turn.status, session.path()[0].status) == ("completed", "completed")

    @pytest.mark.parametrize("error", [ValueError("no model"), KeyboardInterrupt()], ids=["error", "interrupt"])
    def test_an_exception_aborts_the_turn_and_comes_out(self, session: Session, error: BaseException) -> None:
        with pytest.raises(type(error)) as caught, session.turn("Hello?") as turn:
            turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "Hel"}])
            raise error
        assert caught.value is error
        assert (turn.status, session.path()[0].status, texts(session)) == ("aborted", "aborted", ["Hello?", "Hel"])

    def test_a_lost_race_does_not_mask_the_exception(self, session: Session) -> None:
        error = ValueError("no model")
        with pytest.raises(ValueError) as caught, session.turn("Hello?") as turn:
            session.commit(tell("first", "I won."))
            raise error
        assert caught.value is error
        assert texts(session) == ["first", "I won."]
        assert [t.id for t in session.strays()] == [turn.id]

    def test_a_lost_race_is_told_when_the_block_is_left(self, session: Session) -> None:
        with pytest.raises(palaver.HeadConflict), session.turn("Hello?") as turn:
            session.commit(tell("first", "I won."))
        assert [t.id for t in session.strays()] == [turn.id]

    def test_a_block_leaves_alone_what_was_sealed_inside(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.seal("failed")
        assert (turn.status, session.revision) == ("failed", 1)

    @pytest.mark.parametrize(
        ("chunk", "status"),
        [({"type": "error", "errorText": "overloaded"}, "failed"), ({"type": "abort", "reason": "stop"}, "aborted")],
        ids=["error", "abort"],
    )
    def test_the_stream_may_say_how_it_ended(self, session: Session, chunk: dict[str, Any], status: str) -> None:
        with session.turn("Hello?") as turn:
            turn.write({"type": "start"})
            turn.write(chunk)
        assert (turn.status, session.path()[0].status) == (status, status)

    # ------------------------------------------------------------ whole turns

    def test_a_whole_turn_is_committed_at_once(self, session: Session) -> None:
        info = session.commit(tell("Hello?", "Hi."))
        assert (info.status, info.parent_id, info.session_id) == ("completed", None, session.id)
        assert (texts(session), session.revision, session.info.turn_id) == (["Hello?", "Hi."], 1, info.id)

    def test_a_committed_tool_call_without_a_result_is_not_completed(self, session: Session) -> None:
        part = {"type": "tool-run", "toolCallId": "c1", "state": "input-available", "input": {}}
        info = session.commit([user("Run it."), assistant("", parts=[part])])
        assert info.status == "aborted"
        assert session.messages()[1]["parts"] == [part]

    def test_a_turn_may_be_committed_without_a_message(self, session: Session) -> None:
        turn = session.commit([], mode="plan")
        assert (turn.status, turn.mode, session.messages()) == ("completed", "plan", [])
        assert [each.id for each in session.path()] == [turn.id]

    def test_a_commit_says_how_it_ended(self, session: Session) -> None:
        assert session.commit(tell("Hello?", "H"), status="aborted").status == "aborted"
        for status in ("waiting", "done", 7):
            with refused(session, palaver.BadValue):
                session.commit("Hello?", status=status)  # type: ignore[arg-type]

    def test_a_commit_keeps_its_system_prompt(self, store: palaver.Store, session: Session) -> None:
        turn = session.commit(tell("Hello?", "Hi."), system_prompt="Be brief.")
        assert turn.system_prompt is not None and store.system_prompt(turn.system_prompt) == "Be brief."
        assert session.context()[0]["parts"] == [{"type": "text", "text": "Be brief."}]

    def test_a_thousand_messages_of_one_turn_come_back_in_order(self, session: Session) -> None:
        session.commit([user(str(n)) for n in range(1_000)])
        assert texts(session) == [str(n) for n in range(1_000)]

    def test_quick_turns_come_back_in_order_with_increasing_times(self, session: Session) -> None:
        for n in range(200):
            session.commit(user(str(n)))
        assert texts(session) == [str(n) for n in range(200)]
        started = [t.started_at for t in session.path()]
        assert started == sorted(set(started))

    def test_numbers_of_events_increase_and_their_times_never_fall(self, session: Session) -> None:
        for n in range(5):
            ask(session, f"question {n}")
        seen = session.events()
        assert [e.seq for e in seen] == sorted({e.seq for e in seen})
        assert [e.at for e in seen] == sorted(e.at for e in seen)

    # ------------------------------------------------------------ ids

    def test_ids_are_thirty_characters_with_their_prefix(self, session: Session) -> None:
        turn = ask(session)
        for prefix, found in [("ses_", [session.id]), ("trn_", [turn.id]), ("msg_", ids_of(session))]:
            assert all(len(i) == 30 and i.startswith(prefix) and i[4:].isalnum() and i.isascii() for i in found)
        assert len(set(ids_of(session))) == 2

    def test_a_message_is_known_by_the_id_its_client_gave(self, session: Session) -> None:
        session.commit([user("Hello?", id="q-1"), assistant("Hi.", id="a-1")])
        assert ids_of(session) == ["q-1", "a-1"]

    def test_a_well_formed_id_that_is_taken_is_still_what_the_client_sees(self, session: Session) -> None:
        free = "msg_0198f0c0ffee00abcdefABCDEF"
        session.commit(user("one", id=free))
        session.commit(user("two", id=free))
        assert (ids_of(session), texts(session)) == ([free, free], ["one", "two"])
