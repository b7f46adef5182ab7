"""The life of a session: archived it is read-only, deleted it is gone from every list, and both can be taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import palaver
from palaver import HeadConflict, Session, SessionArchived, SessionNotFound, Store

from .group import Group
from .helpers import ask, leave_waiting, refused, say, tell, texts, user


class Lives(Group):
    # ------------------------------------------------------------ archive

    def test_archived_sessions_are_listed_only_when_asked_for(self, store: Store, session: Session) -> None:
        session.archive()
        assert (store.sessions.list().sessions, list(store.sessions)) == ([], [])
        assert [info.id for info in store.sessions.list(archived=True).sessions] == [session.id]
        assert session.info.archived_at is not None
        session.unarchive()
        assert [info.id for info in store.sessions] == [session.id]
        assert session.info.archived_at is None

    @pytest.mark.parametrize("verb", ["turn", "commit", "regenerate", "edit", "rewind", "undo", "redo", "move"])
    def test_an_archived_session_is_read_only(self, session: Session, verb: str) -> None:
        turn = ask(session, user("Hello?", id="q-1"))
        session.archive()
        verbs: dict[str, Callable[[], object]] = {
            "turn": lambda: session.turn("More."),
            "commit": lambda: session.commit(tell("More.", "No.")),
            "regenerate": session.regenerate,
            "edit": lambda: session.edit("q-1", "Bye?"),
            "rewind": lambda: session.rewind(to="q-1"),
            "undo": session.undo,
            "redo": session.redo,
            "move": lambda: session.move(turn.id, expected=1),
        }
        with refused(session, SessionArchived) as caught:
            verbs[verb]()
        assert caught.value.session_id == session.id

    def test_an_archived_session_can_be_read_and_forked_and_goes_on_when_unarchived(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        session.archive()
        assert texts(session) == texts(session.fork()) == ["Hello?", "Hi."]
        session.unarchive()
        ask(session, "More?", "More.")
        assert texts(session)[2:] == ["More?", "More."]

    def test_a_turn_that_was_open_may_append_and_seal_after_the_archive(self, session: Session) -> None:
        turn = session.turn("Hello?")
        session.archive()
        say(turn, "Hi.")
        turn.usage(input=1)
        turn.seal()
        assert (texts(session), session.revision) == (["Hello?", "Hi."], 1)

    def test_archiving_twice_is_archiving_once(self, session: Session) -> None:
        session.archive()
        at = session.info.archived_at
        session.archive()
        assert session.info.archived_at == at

    # ------------------------------------------------------------ delete

    def test_what_was_deleted_is_listed_by_itself_the_last_one_first(self, store: Store, session: Session) -> None:
        archived, *gone = (store.sessions.create("coder", title=title) for title in ("kept", "one", "two", "three"))
        archived.archive()
        for each in gone:
            ask(each)
            each.delete()
        page = store.sessions.list(deleted=True, limit=2)
        assert {info.title for info in page.sessions} <= {"one", "two", "three"}
        rest = store.sessions.list(deleted=True, after=page.next)
        found = [*page.sessions, *rest.sessions]
        assert sorted(info.id for info in found) == sorted(each.id for each in gone)
        times = [info.deleted_at or 0 for info in found]
        assert (times, rest.next) == (sorted(times, reverse=True), None) and all(times)
        gone[0].undelete()
        assert {info.title for info in store.sessions.list(deleted=True).sessions} == {"two", "three"}
        assert store.sessions.list(deleted=True, agent="nobody").sessions == []

    def test_a_deleted_session_is_gone_from_every_list(self, store: Store, session: Session) -> None:
        session.alias("main")
        ask(session)
        session.delete()
        assert store.sessions.list(archived=True).sessions == []
        for search in (store.sessions.get, store.sessions.find):
            with pytest.raises(SessionNotFound):
                search(session.id)
        with pytest.raises(SessionNotFound):
            store.sessions.find("main")
        with pytest.raises(SessionNotFound):
            session.delete()

    def test_a_deleted_session_shows_nothing_and_takes_nothing(self, store: Store, session: Session) -> None:
        ask(session)
        session.delete()
        assert (session.messages(), store.sessions.get(session.id, deleted=True)) == ([], session)
        assert session.info.deleted_at is not None
        assert session.info.metadata == {"deleted_at": session.info.deleted_at}
        with refused(session, palaver.SessionDeleted):
            session.turn("More.")
        with refused(session, palaver.SessionDeleted):
            session.fork()

    def test_forks_of_a_deleted_session_stay_readable(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        fork = session.fork()
        session.delete()
        assert (texts(fork), fork.info.parent_id) == (["Hello?", "Hi."], session.id)
        ask(fork, "More?", "More.")
        assert texts(fork) == ["Hello?", "Hi.", "More?", "More."]

    def test_undelete_brings_everything_back(self, store: Store) -> None:
        session = store.sessions.create(agent="coder", metadata={"k": 1})
        session.alias("main")
        ask(session, "Hello?", "Hi.")
        before = session.messages_json()
        session.delete()
        session.undelete()
        assert (session.messages_json(), session.info.metadata) == (before, {"k": 1})
        assert (session.info.archived_at, session.info.deleted_at) == (None, None)
        assert store.sessions.find("main") == session
        assert [line.kind for line in session.history()][:3] == ["create", "seal", "delete"]
        session.undo()
        assert session.messages() == []

    def test_only_what_was_deleted_is_undeleted(self, session: Session) -> None:
        with refused(session, palaver.Refused):
            session.undelete()

    def test_open_turns_of_a_deleted_session_become_strays(self, session: Session) -> None:
        live = say(session.turn("live"), "half")
        waiting = leave_waiting(fork := session.fork())
        session.delete()
        fork.delete()
        assert [t.id for t in session.strays()] == [live.id]
        assert ([t.id for t in fork.strays()], fork.waiting()) == ([waiting.id], [])
        with pytest.raises((palaver.TurnSealed, HeadConflict)):
            live.write({"type": "start-step"})
        session.undelete()
        assert (texts(session), texts(session.fork(at=live.id))) == ([], ["live", "half"])
