"""Writing without knowing the chunks: text, reasoning, tools, files and steps; and what a turn says of itself later."""

from __future__ import annotations

import pytest

import palaver
from palaver import BadValue, Session, TurnError, TurnSealed, TurnWaiting

from .group import Group
from .helpers import ask, texts


class Hands(Group):
    # ------------------------------------------------------------ text and reasoning

    def test_deltas_of_a_text_are_one_part_and_the_block_ends_it(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.text("Good ")
            turn.text("morning.")
        assert session.messages()[1]["parts"] == [
            {"type": "step-start"},
            {"type": "text", "text": "Good morning.", "state": "done"},
        ]
        assert (turn.status, session.path()[-1].finish) == ("completed", "stop")

    def test_the_chunks_are_those_of_the_ai_sdk(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.text("Hi.")
        kinds = [event.data["type"] for event in session.events() if event.kind == "chunk"]
        assert kinds == ["start", "start-step", "text-start", "text-delta"]
        with turn:
            pass
        kinds = [event.data["type"] for event in session.events() if event.kind == "chunk"]
        assert kinds[4:] == ["text-end", "finish-step", "finish"]

    def test_reasoning_ends_where_the_answer_begins(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.reasoning("They greet me.")
            turn.text("Good morning.")
        thought, said = session.messages()[1]["parts"][1:]
        assert (thought["type"], thought["text"], thought["state"]) == ("reasoning", "They greet me.", "done")
        assert said == {"type": "text", "text": "Good morning.", "state": "done"}

    def test_an_empty_delta_says_nothing(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.text("")
        assert len(session.messages()) == 1

    def test_a_delta_is_text(self, session: Session) -> None:
        turn = session.turn("Hello?")
        with pytest.raises(BadValue, match="delta"):
            turn.text(b"bytes")  # type: ignore[arg-type]
        turn.text("Hi.")
        turn.seal()
        assert texts(session) == ["Hello?", "Hi."]

    def test_it_goes_on_after_chunks_that_were_written_by_hand(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.append([{"type": "start"}, {"type": "start-step"}, {"type": "text-start", "id": "mine"}])
            turn.text("Good ")
            turn.write({"type": "text-delta", "id": "mine", "delta": "day"})
            turn.write({"type": "text-end", "id": "mine"})
            turn.text("Sir.")
        assert [part.get("text") for part in session.messages()[1]["parts"]] == [None, "Good day", "Sir."]

    def test_a_finish_that_was_written_by_hand_is_the_only_one(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.text("Good")
            turn.append([{"type": "text-end", "id": "text-2"}, {"type": "finish", "finishReason": "length"}])
        assert session.path()[-1].finish == "length"

    def test_who_writes_only_chunks_gets_no_finish(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.append([{"type": "text-start", "id": "a"}, {"type": "text-delta", "id": "a", "delta": "Hi."}])
        assert session.path()[-1].finish is None
        assert session.messages()[1]["parts"] == [{"type": "text", "text": "Hi.", "state": "streaming"}]

    # ------------------------------------------------------------ tools, steps, files

    def test_a_tool_has_its_input_and_its_output(self, session: Session) -> None:
        with session.turn("Weather?") as turn:
            call = turn.tool("weather", {"city": "Rome"}, id="call-1")
            call.output({"celsius": 21})
        assert (call.id, call.name) == ("call-1", "weather")
        assert session.messages()[1]["parts"][1] == {
            "type": "tool-weather",
            "toolCallId": "call-1",
            "state": "output-available",
            "input": {"city": "Rome"},
            "output": {"celsius": 21},
        }

    def test_a_tool_that_fails_says_why(self, session: Session) -> None:
        with session.turn("Weather?") as turn:
            turn.tool("weather").error("no such town")
        part = session.messages()[1]["parts"][1]
        assert (part["state"], part["input"], part["errorText"]) == ("output-error", {}, "no such town")

    def test_a_call_of_a_waiting_turn_is_answered_without_taking_the_turn_up(self, session: Session) -> None:
        with session.turn("Clean up.") as turn:
            turn.tool("rm", {"path": "x"}, id="c-1").ask()
            turn.tool("ls", id="c-2")
        assert session.resolve("c-1", approved=False, reason="not that") == turn.id
        assert session.resolve("c-2", output=["a"], turn_id=turn.id) == turn.id
        assert [waiting.id for waiting in session.waiting()] == [turn.id]
        with pytest.raises(palaver.PalaverError):
            session.resolve("c-2", output=["b"])
        with session.resume(turn.id) as again:
            [call] = again.calls()
            assert (call.id, call.approved) == ("c-1", False)
            call.deny()
            again.text("I left it.")
        states = [part["state"] for part in session.messages()[1]["parts"] if "state" in part]
        assert states == ["output-denied", "output-available", "done"]

    def test_only_a_call_that_waits_is_answered_from_outside(self, session: Session) -> None:
        turn = session.turn("Clean up.")
        turn.tool("rm", id="c-1")
        with pytest.raises(palaver.Refused):
            session.resolve("c-1", output="gone", turn_id=turn.id)
        with pytest.raises(palaver.Refused):
            session.resolve("c-1", output="gone")
        turn.seal()
        with pytest.raises(TurnSealed):
            session.resolve("c-1", output="gone", turn_id=turn.id)

    def test_two_open_calls_have_two_ids(self, session: Session) -> None:
        turn = session.turn("Clean up.")
        turn.tool("rm", id="c-1")
        for name, id in (("ls", "c-1"), ("", "c-2"), ("ls", "")):
            with pytest.raises(BadValue):
                turn.tool(name, id=id)

    def test_a_call_is_answered_once(self, session: Session) -> None:
        with session.turn("Weather?") as turn:
            call = turn.tool("weather", id="c-1")
            call.error(ValueError("no such town"))
            with pytest.raises(palaver.Refused, match="answered once"):
                call.output("sunny")
            with pytest.raises(palaver.Refused, match="answered once"):
                call.deny()
        assert session.messages()[1]["parts"][1]["errorText"] == "ValueError: no such town"

    def test_the_finish_of_a_turn_that_went_on_is_not_that_of_before(self, session: Session) -> None:
        with session.turn("Delete it.") as turn:
            turn.tool("rm", id="c-1").ask()
        again = session.resume(turn.id)
        again.resolve("c-1", approved=True)
        again.resolve("c-1", output="gone")
        again.text("It is")
        again.abort("killed")
        assert session.path()[-1].finish is None

    def test_what_follows_a_result_is_another_step(self, session: Session) -> None:
        with session.turn("Weather?") as turn:
            one, two = turn.tool("weather", {"city": "Rome"}), turn.tool("weather", {"city": "Oslo"})
            one.output(21)
            two.output(4)
            turn.text("Warm, and cold.")
        kinds = [part["type"] for part in session.messages()[1]["parts"]]
        assert kinds == ["step-start", "tool-weather", "tool-weather", "step-start", "text"]
        assert [m["role"] for m in session.model_messages()] == ["user", "assistant", "tool", "assistant"]

    def test_step_says_that_the_model_is_called_again(self, session: Session) -> None:
        with session.turn("Count.") as turn:
            turn.step()
            turn.step()
            turn.text("One.")
            turn.step()
            turn.text("Two.")
        kinds = [part["type"] for part in session.messages()[1]["parts"]]
        assert kinds == ["step-start", "text", "step-start", "text"]

    def test_a_preliminary_output_is_replaced(self, session: Session) -> None:
        with session.turn("Weather?") as turn:
            call = turn.tool("weather")
            call.output("looking", preliminary=True)
            call.output("sunny")
        part = session.messages()[1]["parts"][1]
        assert (part["output"], "preliminary" in part, turn.status) == ("sunny", False, "completed")

    def test_a_file_is_kept_as_what_it_is(self, session: Session) -> None:
        with session.turn("Draw.") as turn:
            turn.file(b"\x89PNG", "image/png")
            turn.file("https://example.com/cat.jpg")
        assert session.messages()[1]["parts"][1:] == [
            {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw=="},
            {"type": "file", "mediaType": "image/jpeg", "url": "https://example.com/cat.jpg"},
        ]

    def test_a_file_of_an_unknown_kind_is_refused(self, session: Session) -> None:
        turn = session.turn("Draw.")
        with pytest.raises(BadValue, match="media_type"):
            turn.file(b"?")
        with pytest.raises(BadValue, match="media_type"):
            turn.file("https://example.com/")
        with pytest.raises(BadValue, match="bytes"):
            turn.file(7)  # type: ignore[arg-type]
        assert session.messages()[1:] == []

    # ------------------------------------------------------------ waiting and going on

    def test_a_tool_without_a_result_leaves_the_turn_waiting(self, session: Session) -> None:
        with session.turn("Weather?") as turn:
            turn.text("Let me look.")
            turn.tool("weather", {"city": "Rome"})
        assert turn.status == "waiting"
        assert [waiting.id for waiting in session.waiting()] == [turn.id]

    def test_an_approval_is_asked_for_answered_and_used(self, session: Session) -> None:
        with session.turn("Delete it.") as turn:
            call = turn.tool("rm", {"path": "x"})
            call.ask()
        assert session.messages()[1]["parts"][1]["state"] == "approval-requested"
        with session.resume(turn.id) as again:
            again.resolve(call.id, approved=True)
            again.resolve(call.id, output="gone")
            again.text("Done.")
        kinds = [part["type"] for part in session.messages()[1]["parts"]]
        assert kinds == ["step-start", "tool-rm", "step-start", "text"]
        assert (session.path()[-1].status, session.path()[-1].finish) == ("completed", "stop")

    def test_who_goes_on_after_a_resume_finds_the_calls_that_are_open(self, session: Session) -> None:
        with session.turn("Clean up.") as turn:
            turn.tool("rm", {"path": "x"}, id="c-1").ask()
            turn.tool("rm", {"path": "y"}, id="c-2").ask()
            turn.tool("ls", id="c-3").output([])
        with session.resume(turn.id) as again:
            again.resolve("c-1", approved=True)
            again.resolve("c-2", approved=False, reason="not that one")
            first, second = again.calls()
            assert (first.id, first.name, first.input, first.approved) == ("c-1", "rm", {"path": "x"}, True)
            assert (second.id, second.approved) == ("c-2", False)
            first.output("gone")
            second.deny()
            assert again.calls() == []
            again.text("One is gone.")
        states = [part["state"] for part in session.messages()[1]["parts"] if part["type"].startswith("tool-")]
        assert (states, turn.id) == (["output-available", "output-denied", "output-available"], session.path()[-1].id)

    def test_a_seal_by_hand_ends_what_was_said_as_leaving_does(self, session: Session) -> None:
        turn = session.turn("Hello?")
        turn.text("Hi.")
        turn.seal()
        assert session.messages()[1]["parts"][-1] == {"type": "text", "text": "Hi.", "state": "done"}
        assert session.path()[-1].finish == "stop"
        turn = session.turn("And?")
        turn.tool("look", id="c-1")
        turn.seal()
        assert session.messages()[3]["parts"][-1]["errorText"] == "interrupted"

    def test_a_seal_by_hand_does_not_wait_for_a_call_without_a_result(self, session: Session) -> None:
        turn = session.turn("Go.")
        turn.text("Going.")
        turn.tool("run")
        turn.seal()
        assert (session.path()[0].status, session.path()[0].finish) == ("completed", None)
        assert "wait" not in [event.kind for event in session.events()]

    def test_an_answer_to_a_call_that_was_written_by_hand_is_no_speech(self, session: Session) -> None:
        with session.turn("Go.") as turn:
            turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "run", "input": {}})
            turn.calls()[0].output("done")
        chunks = [event.data["type"] for event in session.events() if event.kind == "chunk"]
        assert chunks == ["tool-input-available", "tool-output-available"]
        assert session.path()[0].finish is None

    def test_what_was_said_before_a_compaction_is_ended_behind_it(self, session: Session) -> None:
        turn = session.turn("Go.")
        turn.text("One.")
        turn.step()
        turn.text("Two.")
        with turn.compact("They went."):
            pass
        *_, last = session.path()
        assert (last.status, last.finish) == ("completed", "stop")
        assert [part.get("state") for part in session.messages()[-1]["parts"]] == [None, "done"]

    def test_after_a_resume_the_open_text_goes_on(self, session: Session) -> None:
        turn = session.turn("Tell me.")
        turn.text("Once upon ")
        turn.wait()
        with pytest.raises(TurnWaiting, match=turn.id):
            turn.text("no")
        with session.resume(turn.id) as again:
            again.text("a time.")
        assert session.messages()[1]["parts"] == [
            {"type": "step-start"},
            {"type": "text", "text": "Once upon a time.", "state": "done"},
        ]

    def test_nothing_is_said_after_the_seal(self, session: Session) -> None:
        with session.turn("Weather?") as turn:
            call = turn.tool("weather")
            call.output("sunny")
        with pytest.raises(TurnSealed, match=turn.id):
            turn.text("more")
        with pytest.raises(TurnSealed, match=turn.id):
            call.output("rain")

    def test_a_call_and_a_message_show_what_they_are(self, session: Session) -> None:
        with session.turn("Run it.") as turn:
            call = turn.tool("run", {"a": 1}, id="c1")
            assert repr(call) == "<ToolCall run c1: {'a': 1}>"
            call.ask()
        session.resolve("c1", approved=False)
        assert repr(session.resume(turn.id).calls()[0]) == "<ToolCall run c1: {'a': 1}, denied>"
        [said, _] = session.transcript()
        assert repr(said) == f"<StoredMessage {said.id} user, 1 part>"

    def test_usage_that_is_not_told_yet_is_no_usage(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.usage(None)
            turn.usage(None, key="r1")
            turn.usage({"input_tokens": 3, "output_tokens": 4}, key="r1")
        assert [entry.usage for entry in session.usage()] == [palaver.Usage(input=3, output=4)]

    def test_two_calls_of_a_turn_have_two_ids(self, session: Session) -> None:
        with session.turn("Run it.") as turn:
            turn.tool("run", {}, id="c1").output(1)
            with pytest.raises(palaver.BadValue):
                turn.tool("run", {}, id="c1")
            turn.step()
            with pytest.raises(palaver.BadValue):
                turn.tool("run", {}, id="c1")
        assert [part["type"] for part in session.messages()[1]["parts"]].count("tool-run") == 1

    def test_an_exception_aborts_with_what_was_said(self, session: Session) -> None:
        with pytest.raises(ZeroDivisionError), session.turn("Hello?") as turn:
            turn.text("Go")
            raise ZeroDivisionError("by zero")
        assert (turn.status, texts(session)) == ("aborted", ["Hello?", "Go"])
        assert session.path()[-1].abort_reason == "ZeroDivisionError: by zero"


class Told(Group):
    """What is kept of a turn can be read."""

    def test_a_turn_says_what_was_in_force(self, store: palaver.Store, session: Session) -> None:
        session.permissions.add("bash", "git *")
        with session.turn(
            "Hello?", model="acme/large", agent="helper", system_prompt="Be brief.", toolset="web", tools=["get"]
        ) as turn:
            turn.used("bash git status")
        [info] = session.path()
        assert info.model == {"provider_id": "acme", "model_id": "large"}
        assert (info.agent, info.toolset, info.tools) == ("helper", "web", ["get"])
        assert info.system_prompt is not None and store.system_prompt(info.system_prompt) == "Be brief."
        assert [rule["pattern"] for rule in info.permissions_granted] == ["git *"]
        assert info.permissions_used == ["bash git status"]

    def test_a_turn_of_which_nothing_was_told_says_nothing(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        [info] = session.path()
        assert (info.error, info.abort_reason, info.model, info.agent, info.tools) == (None,) * 5
        assert (info.permissions_granted, info.permissions_used, info.trigger) == ([], [], None)

    def test_an_error_of_the_stream_is_kept(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.write({"type": "error", "errorText": "the model is away"})
        assert session.path()[-1].status == "failed"
        assert session.path()[-1].error == TurnError("the model is away")

    def test_a_failure_has_a_message_and_a_code(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.text("Let me")
            turn.fail("too many requests", code="rate_limit")
        info = session.path()[-1]
        assert (info.status, info.error) == ("failed", TurnError("too many requests", "rate_limit"))

    def test_an_abort_has_its_reason_whoever_gave_it(self, session: Session) -> None:
        session.turn("One?").abort("the user pressed stop")
        with session.turn("Two?") as turn:
            turn.write({"type": "abort", "reason": "out of time"})
        assert [turn.abort_reason for turn in session.path()] == ["the user pressed stop", "out of time"]

    def test_a_list_shows_what_waits_what_is_written_and_the_applications_id(self, store: palaver.Store) -> None:
        session = store.sessions.create(id="chat-42")
        assert (session.info.app_id, session.info.waiting, session.info.live) == ("chat-42", 0, 0)
        turn = session.turn("Hello?")
        assert (session.info.waiting, session.info.live) == (0, 1)
        turn.wait()
        assert [(info.waiting, info.live) for info in store.sessions.list().sessions] == [(1, 0)]
        session.resume(turn.id).seal()
        assert (session.info.waiting, session.info.live) == (0, 0)
        assert store.sessions.create().info.app_id is None
