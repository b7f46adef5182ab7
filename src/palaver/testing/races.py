"""Races: at most one of many writers wins a revision, the others are told, and the transcript never shows a loser."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import palaver
from palaver import HeadConflict, Session, Store

from .group import Group
from .helpers import OpenStore, ask, picture, refused, say, tell, texts, user


def run_together(work: list[Callable[[], object]]) -> list[object]:
    """Run all at once; what each returned, or the HeadConflict it got."""
    start = threading.Barrier(len(work))

    def one(job: Callable[[], object]) -> object:
        start.wait(timeout=30)
        try:
            return job()
        except HeadConflict as conflict:
            return conflict

    with ThreadPoolExecutor(len(work)) as pool:
        return list(pool.map(one, work, timeout=60))


class Races(Group):
    # ------------------------------------------------------------ expected

    def test_a_turn_begins_only_on_the_expected_revision(self, session: Session) -> None:
        ask(session)
        with refused(session, HeadConflict) as caught:
            session.turn("More?", expected=0)
        error = caught.value
        assert (error.session_id, error.expected, error.actual, error.stray) == (session.id, 0, 1, None)
        assert error.code == "store_commit_failed"
        session.turn("More?", expected=1).seal()
        assert session.revision == 2

    def test_a_commit_that_loses_leaves_nothing_at_all(self, session: Session) -> None:
        ask(session)
        with refused(session, HeadConflict) as caught:
            session.commit(tell("q", "a"), expected=0)
        assert caught.value.stray is None

    def test_a_commit_without_expectation_follows_the_head(self, session: Session) -> None:
        for n in range(3):
            session.commit(user(str(n)))
        assert (texts(session), session.revision) == (["0", "1", "2"], 3)

    # ------------------------------------------------------------ the loser

    def test_the_transcript_reads_as_before_when_a_turn_loses(self, session: Session) -> None:
        ask(session, "q0", "a0")
        loser = say(session.turn("q2"), "lost")
        session.commit(tell("q1", "won"))
        before = (session.messages_json(), session.revision, session.path(), session.history())
        with pytest.raises(HeadConflict) as caught:
            loser.seal()
        assert (session.messages_json(), session.revision, session.path(), session.history()) == before
        error = caught.value
        assert (error.expected, error.actual, error.stray, error.code) == (1, 2, loser.id, "store_commit_failed")
        assert error.session_id == session.id

    def test_a_turn_that_lost_its_place_is_not_read_any_more(self, session: Session) -> None:
        loser = say(session.turn("q2"), "lost")
        assert texts(session) == ["q2", "lost"]
        session.commit(tell("q1", "won"))
        assert texts(session) == ["q1", "won"]
        loser.write({"type": "start-step"})
        assert texts(session) == ["q1", "won"]

    def test_a_turn_that_speaks_first_after_losing_its_place_stays_unread(self, session: Session) -> None:
        loser = session.turn("q2")
        session.commit(tell("q1", "won"))
        say(loser, "lost")
        assert texts(session) == ["q1", "won"]
        with pytest.raises(HeadConflict):
            loser.seal()
        assert texts(session.fork(at=loser.id)) == ["q2", "lost"]

    def test_a_loser_is_sealed_and_not_sealed_again(self, session: Session) -> None:
        loser = session.turn("q2")
        session.commit(tell("q1", "won"))
        with pytest.raises(HeadConflict):
            loser.seal()
        assert loser.status == "completed"
        with refused(session, palaver.TurnSealed):
            loser.seal()

    def test_every_loser_is_a_stray_of_its_own(self, session: Session) -> None:
        turns = [say(session.turn(f"q{n}"), f"a{n}") for n in range(4)]
        turns[2].seal()
        for loser in (turns[0], turns[1], turns[3]):
            with pytest.raises(HeadConflict):
                loser.seal()
        assert texts(session) == ["q2", "a2"]
        assert [t.id for t in session.strays()] == [turns[0].id, turns[1].id, turns[3].id]
        assert [texts(session.fork(at=t.id)) for t in turns] == [[f"q{n}", f"a{n}"] for n in range(4)]

    def test_a_refused_commit_does_not_disturb_an_open_turn(self, session: Session) -> None:
        turn = session.turn("Hello?")
        before = picture(session)
        with pytest.raises(HeadConflict):
            session.commit(tell("q", "a"), expected=5)
        assert picture(session) == before
        say(turn, "Hi.")
        turn.seal()
        assert texts(session) == ["Hello?", "Hi."]

    # ------------------------------------------------------------ two turns at once

    def test_two_open_turns_are_read_as_one_list_in_the_order_of_their_rows(self, session: Session) -> None:
        one, two = session.turn("q1"), session.turn("q2")
        two.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "a2"}])
        one.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "a1"}])
        assert texts(session) == ["q1", "q2", "a2", "a1"]

    def test_chunks_of_two_turns_may_alternate(self, session: Session) -> None:
        one, two = session.turn("q1"), session.turn("q2")
        for turn in (one, two):
            turn.append([{"type": "start"}, {"type": "text-start", "id": "t"}])
        for n in range(20):
            for turn, name in ((one, "a"), (two, "b")):
                turn.write({"type": "text-delta", "id": "t", "delta": f"{name}{n} "})
        assert texts(session)[2:] == ["".join(f"{name}{n} " for n in range(20)) for name in "ab"]
        assert (one.chunks, two.chunks) == (22, 22)

    # ------------------------------------------------------------ many at once

    def test_one_of_many_commits_on_a_revision_wins(self, session: Session) -> None:
        results = run_together([lambda n=n: session.commit(user(str(n)), expected=0) for n in range(8)])  # type: ignore[misc]
        won = [n for n, result in enumerate(results) if not isinstance(result, HeadConflict)]
        assert len(won) == 1
        assert (texts(session), session.revision, session.strays()) == ([str(won[0])], 1, [])
        assert {r.actual for r in results if isinstance(r, HeadConflict)} == {1}

    def test_one_of_many_turns_on_a_revision_lands(self, session: Session) -> None:
        turns = [session.turn(str(n)) for n in range(6)]
        results = run_together([turn.seal for turn in turns])
        landed = [t.id for t, result in zip(turns, results, strict=True) if result is None]
        assert [t.id for t in session.path()] == landed and len(landed) == 1
        assert {t.id for t in session.strays()} | set(landed) == {t.id for t in turns}

    def test_writers_that_read_again_after_a_conflict_all_get_through(self, session: Session) -> None:
        def work(name: str) -> None:
            for n in range(8):
                while True:
                    try:
                        session.commit(user(f"{name}{n}"), expected=session.revision)
                        break
                    except HeadConflict:
                        continue

        run_together([lambda name=name: work(name) for name in "abcd"])  # type: ignore[misc]
        said = texts(session)
        assert (session.revision, len(session.history()), len(said)) == (32, 33, 32)
        assert all([s for s in said if s[0] == name] == [f"{name}{n}" for n in range(8)] for name in "abcd")

    # ------------------------------------------------------------ two handles

    def test_two_handles_race_like_two_threads(self, session: Session, second: Store) -> None:
        other = second.sessions.get(session.id)
        mine, theirs = say(session.turn("mine"), "1"), say(other.turn("theirs"), "2")
        assert texts(session) == texts(other) == ["mine", "1", "theirs", "2"]
        theirs.seal()
        with pytest.raises(HeadConflict) as caught:
            mine.seal()
        assert (caught.value.actual, caught.value.stray) == (1, mine.id)
        assert texts(session) == texts(other) == ["theirs", "2"]
        assert [t.id for t in other.strays()] == [mine.id]

    def test_what_one_handle_moved_the_other_must_expect(self, session: Session, second: Store) -> None:
        other = second.sessions.get(session.id)
        session.commit(tell("q", "a"))
        with refused(other, HeadConflict):
            other.commit(tell("q", "a"), expected=0)
        other.commit(tell("q2", "a2"), expected=1)
        assert session.revision == 2

    def test_a_turn_resumed_by_another_handle_is_lost_to_this_one(self, session: Session, second: Store) -> None:
        turn = session.turn("Hello?")
        turn.write({"type": "start"})
        turn.wait()
        resumed = second.sessions.get(session.id).resume(turn.id)
        say(resumed, "Hi.")
        with refused(session, palaver.Refused):
            turn.seal()
        resumed.seal()
        assert texts(session) == ["Hello?", "Hi."]

    def test_a_live_turn_is_not_taken_from_its_writer(self, session: Session, open_store: OpenStore) -> None:
        self.needs_a_shared_place()
        turn = session.turn("Hello?")
        other = open_store().sessions.get(session.id)
        with refused(session, palaver.Refused):
            other.resume(turn.id)
        say(turn, "Hi.")
        turn.seal()
        assert texts(other) == ["Hello?", "Hi."]
