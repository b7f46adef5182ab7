"""Stopping a turn: whoever writes it, it ends with what is on disk, and its writer is told."""

from __future__ import annotations

import time

import pytest

import palaver
from palaver import Session, Store, TurnNotFound, TurnSealed, TurnStopped

from .group import Group
from .helpers import ask, refused, texts

_PATIENCE = 20.0


class Stopping(Group):
    def test_a_turn_is_stopped_with_what_it_has(self, session: Session) -> None:
        turn = session.turn("Count.")
        turn.text("One, two")
        assert session.stop(turn.id, reason="enough") == [turn.id]
        assert texts(session) == ["Count.", "One, two"]
        [info] = session.path()
        assert (info.status, info.abort_reason, session.history()[-1].kind) == ("aborted", "enough", "stop")

    def test_its_writer_is_told_by_its_next_write_and_by_leaving_the_block(self, session: Session) -> None:
        turn = session.turn("Count.")
        session.stop()
        with pytest.raises(TurnStopped, match="was stopped") as told:
            turn.text("One")
        assert isinstance(told.value, TurnSealed) and told.value.reason == "stopped"
        with pytest.raises(TurnStopped), session.turn("Again.") as turn:
            session.stop(turn.id)
        assert turn.stopped and turn.status == "aborted"

    def test_its_writer_is_told_within_a_moment_though_it_writes_nothing(self, session: Session) -> None:
        turn = session.turn("Count.")
        turn.text("One")
        assert not turn.stopped
        session.stop()
        end = time.monotonic() + _PATIENCE
        while not turn.stopped:
            assert time.monotonic() < end, "nobody told it"
            time.sleep(0.02)

    def test_a_waiting_turn_is_stopped_and_its_calls_are_closed(self, session: Session) -> None:
        with session.turn("Clean up.") as turn:
            turn.tool("rm", {"path": "x"}, id="c-1").ask()
        assert session.stop() == [turn.id]
        part = session.messages()[1]["parts"][1]
        assert (part["state"], session.waiting()) == ("output-error", [])

    def test_without_an_id_every_turn_on_the_revision_is_stopped_and_one_lands(self, session: Session) -> None:
        first, second = session.turn("One?"), session.turn("Two?")
        assert session.stop() == [first.id, second.id]
        assert ([turn.id for turn in session.path()], [s.id for s in session.strays()]) == ([first.id], [second.id])
        assert session.stop() == []

    def test_what_the_save_policy_holds_back_is_flushed_first(self, open_store: object) -> None:
        with open_store(save_on="turn") as store:  # type: ignore[operator]
            session = store.sessions.create()
            turn = session.turn("Count.")
            turn.text("One, two")
            session.stop()
            assert texts(session) == ["Count.", "One, two"]

    def test_what_is_no_open_turn_of_the_session_cannot_be_stopped(self, store: Store, session: Session) -> None:
        ask(session)
        sealed, other = session.path()[0].id, store.sessions.create().turn("Hello?")
        with refused(session, TurnSealed):
            session.stop(sealed)
        for turn_id in ("trn_none", other.id):
            with refused(session, TurnNotFound):
                session.stop(turn_id)
        assert other.status == "streaming"

    def test_after_a_stop_the_session_goes_on(self, session: Session) -> None:
        session.turn("Count.")
        session.stop()
        ask(session, "And now?", "Yes.")
        assert texts(session) == ["Count.", "And now?", "Yes."]

    def test_an_open_turn_of_this_process_is_found_by_its_id(self, store: Store, session: Session) -> None:
        turn = session.turn("Hello?")
        assert store.open_turn(turn.id) is turn
        turn.seal()
        with pytest.raises(TurnNotFound):
            store.open_turn(turn.id)

    def test_a_late_result_of_a_stopped_turn_is_kept(self, session: Session) -> None:
        turn = session.turn("Look.")
        turn.tool("look", id="c-1")
        session.stop()
        with pytest.raises(palaver.TurnSealed) as late:
            turn.resolve("c-1", output="found")
        assert late.value.late is not None

    def test_a_late_result_of_a_call_that_was_denied_is_kept_too(self, session: Session) -> None:
        """The turn was sealed behind the back of who holds it."""
        turn = session.turn("Look.")
        turn.tool("look", id="c-1").ask()
        turn.resolve("c-1", approved=False)
        session.stop()
        with pytest.raises(palaver.TurnSealed) as late:
            turn.resolve("c-1", output="found")
        assert late.value.late is not None
