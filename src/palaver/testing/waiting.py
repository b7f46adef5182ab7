"""Waiting: a turn with unanswered tools stays open for days, is resumed by anybody, is closed if the user moves on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver import Refused, Session, Store, Turn, TurnSealed

from .group import Group
from .helpers import ask, call, leave_waiting, refused, say, tell, texts, tool_part


def ask_approval(session: Session) -> Turn:
    """A turn that waits for somebody to allow call c1."""
    with session.turn("Delete it.") as turn:
        call(turn)
        turn.write({"type": "tool-approval-request", "approvalId": "ok-1", "toolCallId": "c1"})
        turn.write({"type": "finish"})
    return turn


def end_of(session: Session, turn: Turn, how: str) -> None:
    """End a turn that waits, in one of the ways there are."""
    if how == "stop":
        session.stop(turn.id)
    elif how == "move on":
        ask(session, "Never mind.")
    else:
        resumed = session.resume(turn.id)
        {"seal": resumed.seal, "abort": resumed.abort, "fail": lambda: resumed.fail("overloaded")}[how]()


class Waiting(Group):
    # ------------------------------------------------------------ how a turn comes to wait

    def test_an_answer_that_finishes_with_an_open_tool_waits(self, session: Session) -> None:
        turn = leave_waiting(session)
        assert (turn.status, [t.id for t in session.waiting()]) == ("waiting", [turn.id])
        assert (session.waiting()[0].status, session.path(), session.revision) == ("waiting", [], 0)
        assert (texts(session)[0], tool_part(session)["state"]) == ("Run it.", "input-available")

    def test_an_answer_that_finishes_with_every_tool_answered_does_not_wait(self, session: Session) -> None:
        with session.turn("Run it.") as turn:
            call(turn)
            turn.write({"type": "tool-output-available", "toolCallId": "c1", "output": 1})
            turn.write({"type": "finish"})
        assert (turn.status, session.waiting()) == ("completed", [])

    def test_wait_leaves_the_turn_open_whatever_is_in_it(self, session: Session) -> None:
        with session.turn("Hello?") as turn:
            turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "Hel"}])
            turn.wait()
        assert (turn.status, texts(session)) == ("waiting", ["Hello?", "Hel"])
        with session.resume(turn.id) as resumed:
            resumed.write({"type": "text-delta", "id": "t", "delta": "lo"})
        assert (resumed.status, texts(session)) == ("completed", ["Hello?", "Hello"])

    def test_a_list_of_what_waits_has_no_other_session(self, store: Store, session: Session) -> None:
        ask(store.sessions.create("another"), "Hello?")
        leave_waiting(session)
        for order in ("updated", "created"):
            assert [info.id for info in store.sessions.list(waiting=True, order=order).sessions] == [session.id]
        assert store.sessions.list(waiting=True, agent="another").sessions == []
        ask(session, "Never mind.")
        assert store.sessions.list(waiting=True).sessions == []

    def test_a_waiting_turn_takes_no_chunks(self, session: Session) -> None:
        turn = leave_waiting(session)
        with refused(session, palaver.TurnWaiting):
            turn.write({"type": "start-step"})

    # ------------------------------------------------------------ resume and resolve

    def test_resume_continues_the_same_message(self, session: Session) -> None:
        turn = leave_waiting(session)
        before = session.messages()[1]["id"]
        with session.resume(turn.id) as resumed:
            resumed.resolve("c1", output={"ok": True})
            say(resumed, "Done.")
        assert (resumed.id, resumed.status, session.waiting()) == (turn.id, "completed", [])
        assert (session.messages()[1]["id"], len(session.messages())) == (before, 2)
        assert (tool_part(session)["state"], tool_part(session)["output"]) == ("output-available", {"ok": True})
        assert (texts(session)[1], session.revision) == ("Done.", 1)

    def test_a_resumed_turn_counts_its_chunks_from_where_it_was(self, session: Session) -> None:
        turn = leave_waiting(session)
        assert session.resume(turn.id).chunks == turn.chunks == 4

    def test_a_turn_resumed_and_left_without_an_answer_waits_on(self, session: Session) -> None:
        turn = leave_waiting(session)
        with session.resume(turn.id) as resumed:
            pass
        assert (resumed.status, [t.id for t in session.waiting()]) == ("waiting", [turn.id])

    def test_a_turn_is_resumed_after_the_store_was_opened_again(
        self, store: Store, reopen: Callable[[Store], Store]
    ) -> None:
        session = store.sessions.create(agent="coder")
        turn = leave_waiting(session)
        session = reopen(store).sessions.get(session.id)
        assert [t.id for t in session.waiting()] == [turn.id]
        with session.resume(turn.id) as resumed:
            resumed.resolve("c1", output=1)
        assert (resumed.status, tool_part(session)["output"]) == ("completed", 1)

    def test_only_a_waiting_turn_of_this_session_is_resumed(self, session: Session) -> None:
        done, other = ask(session), leave_waiting(session.fork())
        live = session.turn("live")
        with refused(session, TurnSealed):
            session.resume(done.id)
        with refused(session, Refused):
            session.resume(live.id)
        with refused(session, palaver.TurnNotFound):
            session.resume(other.id)
        with refused(session, palaver.TurnNotFound):
            session.resume("trn_nobody")

    def test_the_handle_from_before_cannot_write_beside_the_resumed_one(self, session: Session) -> None:
        turn = leave_waiting(session)
        session.resume(turn.id)
        with refused(session, Refused):
            turn.write({"type": "start-step"})
        with refused(session, Refused):
            session.resume(turn.id)

    def test_an_answer_may_come_while_the_turn_waits(self, session: Session) -> None:
        turn = leave_waiting(session)
        turn.resolve("c1", output=[1, 2])
        assert (tool_part(session)["output"], turn.status) == ([1, 2], "waiting")
        session.resume(turn.id).seal()
        assert tool_part(session)["output"] == [1, 2]

    @pytest.mark.parametrize("output", [None, False, 0, "", [], {}], ids=repr)
    def test_an_empty_output_is_an_output(self, session: Session, output: Any) -> None:
        leave_waiting(session).resolve("c1", output=output)
        assert (tool_part(session)["state"], tool_part(session)["output"]) == ("output-available", output)

    def test_an_error_is_an_answer(self, session: Session) -> None:
        turn = leave_waiting(session)
        with session.resume(turn.id) as resumed:
            resumed.resolve("c1", error="no such file")
        assert (tool_part(session)["state"], tool_part(session)["errorText"]) == ("output-error", "no such file")
        assert resumed.status == "completed"

    def test_a_granted_approval_goes_on_to_the_output(self, session: Session) -> None:
        turn = ask_approval(session)
        assert (tool_part(session)["state"], tool_part(session)["approval"]) == ("approval-requested", {"id": "ok-1"})
        with session.resume(turn.id) as resumed:
            resumed.resolve("c1", approved=True, reason="go on")
            assert tool_part(session)["state"] == "approval-responded"
            assert tool_part(session)["approval"] == {"id": "ok-1", "approved": True, "reason": "go on"}
            resumed.write({"type": "tool-output-available", "toolCallId": "c1", "output": "deleted"})
        assert (resumed.status, tool_part(session)["state"]) == ("completed", "output-available")
        assert tool_part(session)["approval"]["approved"] is True

    def test_a_denied_approval_ends_in_a_denied_output(self, session: Session) -> None:
        turn = ask_approval(session)
        turn.resolve("c1", approved=False, reason="never")
        assert tool_part(session)["approval"] == {"id": "ok-1", "approved": False, "reason": "never"}
        with session.resume(turn.id) as resumed:
            resumed.write({"type": "tool-output-denied", "toolCallId": "c1"})
        assert (resumed.status, tool_part(session)["state"]) == ("completed", "output-denied")

    @pytest.mark.parametrize("how", ["seal", "abort", "fail", "stop", "move on"])
    def test_a_no_stays_in_the_record_with_its_reason(self, session: Session, how: str) -> None:
        turn = ask_approval(session)
        session.resolve("c1", approved=False, reason="never")
        end_of(session, turn, how)
        assert (tool_part(session)["state"], "errorText" in tool_part(session)) == ("output-denied", False)
        assert tool_part(session)["approval"] == {"id": "ok-1", "approved": False, "reason": "never"}
        [told] = [each["content"] for each in session.model_messages() if each["role"] == "tool"]
        assert [each["output"] for each in told if "output" in each] == [{"type": "error-text", "value": "never"}]

    @pytest.mark.parametrize("how", ["seal", "abort", "fail", "stop", "move on"])
    def test_a_yes_whose_call_never_ran_stays_beside_the_interruption(self, session: Session, how: str) -> None:
        turn = ask_approval(session)
        session.resolve("c1", approved=True, reason="go on")
        end_of(session, turn, how)
        assert (tool_part(session)["state"], tool_part(session)["errorText"]) == ("output-error", "interrupted")
        assert tool_part(session)["approval"] == {"id": "ok-1", "approved": True, "reason": "go on"}

    def test_a_denied_call_has_no_output(self, session: Session) -> None:
        turn = ask_approval(session)
        session.resolve("c1", approved=False)
        with refused(session, palaver.ChunkError):
            session.resolve("c1", output="deleted")
        resumed = session.resume(turn.id)
        with refused(session, palaver.ChunkError):
            resumed.resolve("c1", output="deleted")
        [call] = resumed.calls()
        with refused(session, Refused):
            call.output("deleted")
        call.deny()
        resumed.seal()
        assert tool_part(session)["state"] == "output-denied"

    def test_a_repeated_call_id_is_resolved_in_its_last_step(self, session: Session) -> None:
        with session.turn("Run it twice.") as turn:
            call(turn)
            turn.write({"type": "tool-output-available", "toolCallId": "c1", "output": "first"})
            call(turn)
            turn.write({"type": "finish"})
        assert turn.status == "waiting"
        with session.resume(turn.id) as resumed:
            resumed.resolve("c1", output="second")
        outputs = [part["output"] for part in session.messages()[1]["parts"] if part["type"] == "tool-run"]
        assert (resumed.status, outputs) == ("completed", ["first", "second"])

    @pytest.mark.parametrize("answer", [{}, {"output": 1, "error": "x"}, {"error": "x", "approved": True}], ids=str)
    def test_an_answer_is_exactly_one_thing(self, session: Session, answer: dict[str, Any]) -> None:
        turn = leave_waiting(session)
        with refused(session, palaver.BadValue):
            turn.resolve("c1", **answer)

    def test_an_answer_needs_its_question(self, session: Session) -> None:
        turn = leave_waiting(session)
        with refused(session, palaver.ChunkError):
            turn.resolve("nobody", output=1)
        with refused(session, palaver.ChunkError):
            turn.resolve("c1", approved=True)
        turn.resolve("c1", output=1)
        assert tool_part(session)["output"] == 1

    # ------------------------------------------------------------ moving on

    def test_if_the_user_moves_on_the_open_tool_is_closed_as_an_error(self, session: Session) -> None:
        turn = leave_waiting(session)
        ask(session, "Never mind.", "Fine.")
        assert session.path()[0].id == turn.id
        assert (texts(session)[0], texts(session)[2:]) == ("Run it.", ["Never mind.", "Fine."])
        assert (tool_part(session)["state"], tool_part(session)["errorText"]) == ("output-error", "interrupted")
        assert (session.waiting(), session.strays()) == ([], [])

    def test_a_whole_turn_moves_on_too(self, session: Session) -> None:
        turn = leave_waiting(session)
        info = session.commit(tell("Never mind.", "Fine."))
        assert [t.id for t in session.path()] == [turn.id, info.id]

    def test_the_expected_revision_is_compared_before_a_waiting_turn_is_closed(self, session: Session) -> None:
        turn = leave_waiting(session)
        with refused(session, palaver.HeadConflict):
            session.turn("Never mind.", expected=1)
        info = session.commit(tell("Never mind.", "Fine."), expected=0)
        assert [t.id for t in session.path()] == [turn.id, info.id]

    def test_of_two_waiting_turns_the_first_lands_and_the_second_is_a_stray(self, session: Session) -> None:
        first, second = leave_waiting(session, "one", "c1"), self.waits_beside(session)
        assert [t.id for t in session.waiting()] == [first.id, second.id]
        ask(session, "Never mind.", "Fine.")
        assert (session.path()[0].id, [t.id for t in session.strays()]) == (first.id, [second.id])
        assert (session.waiting(), texts(session)) == ([], ["one", "", "Never mind.", "Fine."])
        assert tool_part(session.fork(at=second.id), "c2")["state"] == "output-error"

    def waits_beside(self, session: Session) -> Turn:
        """A second turn on the same revision: begun before the first one waits would be moving on, so it is resumed."""
        [first] = session.waiting()
        resumed = session.resume(first.id)
        second = call(session.turn("two"), "c2")
        second.wait()
        resumed.wait()
        return second

    def test_an_answer_after_the_seal_is_kept_as_a_stray_sibling(self, session: Session) -> None:
        turn = leave_waiting(session)
        ask(session, "Never mind.", "Fine.")
        before = session.messages_json()
        with pytest.raises(TurnSealed) as caught:
            turn.resolve("c1", output="too late")
        late = caught.value.late
        assert late is not None and [t.id for t in session.strays()] == [late]
        assert (session.messages_json(), session.strays()[0].parent_id) == (before, None)
        rescued = session.fork(at=late)
        assert (texts(rescued)[0], tool_part(rescued)["state"]) == ("Run it.", "output-available")
        assert tool_part(rescued)["output"] == "too late"

    def test_a_late_answer_counts_no_tokens_twice(self, session: Session) -> None:
        turn = call(session.turn("Run it."))
        turn.usage(input=10)
        turn.abort()
        with pytest.raises(TurnSealed) as caught:
            turn.resolve("c1", output="too late")
        assert caught.value.late is not None
        assert session.info.usage == palaver.Usage(input=10)

    def test_a_late_answer_to_nothing_leaves_nothing(self, session: Session) -> None:
        fork = session.fork()
        silent, answered = session.turn("Hello?"), ask(fork)
        silent.seal()
        with refused(session, palaver.PalaverError):
            silent.resolve("c1", output=1)
        home = fork.fork(at=answered.id)
        with refused(home, palaver.PalaverError):
            answered.resolve("nobody", output=1)
