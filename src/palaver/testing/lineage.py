"""Lineage: titles that count up, sessions that go on in others, and lists of those that are over."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from palaver import BadValue, Session, SessionNotFound, Store

from .group import Group
from .helpers import ask


def make(store: Store, *titles: str) -> list[Session]:
    return [store.sessions.create(title=title) for title in titles]


class Titles(Group):
    # ------------------------------------------------------------ the next title

    def test_the_first_title_of_a_lineage_is_the_plain_one(self, store: Store) -> None:
        make(store, "Xy", "Xy #7", "x", "x #7", "X y")
        assert store.sessions.next_title("X") == "X"
        assert store.sessions.next_title("X #3") == "X"

    def test_the_next_title_is_one_more_than_the_highest(self, store: Store) -> None:
        make(store, "X")
        assert store.sessions.next_title("X") == "X #2"
        make(store, "X #2")
        assert store.sessions.next_title("X") == "X #3"
        make(store, "X #9")
        assert store.sessions.next_title("X") == "X #10"
        make(store, "X #10")
        assert store.sessions.next_title("X") == store.sessions.next_title("X #2") == "X #11"

    def test_a_lineage_may_lack_its_plain_title(self, store: Store) -> None:
        make(store, "X #4")
        assert store.sessions.next_title("X") == store.sessions.next_title("X #99") == "X #5"

    @pytest.mark.parametrize(
        "other", ["X #1", "X #02", "X #2b", "X #", "X #-3", "X #2 #5", "X #٣", "X#7", "X  #7", " X #7", "X #7 "]
    )
    def test_what_only_looks_like_a_number_of_the_lineage_is_none(self, store: Store, other: str) -> None:
        make(store, "X", other)
        assert store.sessions.next_title("X") == "X #2"
        assert store.sessions.by_title("X").title == "X"

    @pytest.mark.parametrize(
        ("title", "near"),
        [
            ("100%", ["100 #50", "100x #50", "100% of it #50", "100%% #50"]),
            ("a_b", ["axb #50", "ab #50", "a\\_b #50"]),
            ("a\\b", ["ab #50", "a\\\\b #50", "a\\%b #50"]),
            ("%", ["x #50", "% % #50"]),
            ("_", ["x #50"]),
            ("\\", ["% #50"]),
            ("C#", ["C #50", "C# 50", "C#50"]),
            ("#", ["#50", " #50"]),
            ("a*[b]?", ["axb #50", "a*bx #50"]),
            ("it's", ["its #50"]),
            ("Über 🎉", ["über 🎉 #50", "Über 🎉🎉 #50", "U\u0308ber 🎉 #50"]),
        ],
    )
    def test_every_character_of_a_title_means_itself(self, store: Store, title: str, near: list[str]) -> None:
        make(store, *near)
        assert store.sessions.next_title(title) == title
        make(store, title, f"{title} #9")
        assert store.sessions.next_title(title) == f"{title} #10"
        assert store.sessions.by_title(title).title == f"{title} #9"

    def test_archived_sessions_count_and_deleted_ones_do_not(self, store: Store) -> None:
        _, second, third = make(store, "X", "X #2", "X #3")
        third.delete()
        second.archive()
        assert store.sessions.next_title("X") == "X #3"
        assert store.sessions.by_title("X") == second
        third.undelete()
        assert store.sessions.next_title("X") == "X #4"
        assert store.sessions.by_title("X") == third

    def test_a_title_that_was_given_up_does_not_count(self, store: Store) -> None:
        _, second = make(store, "X", "X #2")
        second.title = "Y"
        assert store.sessions.next_title("X") == "X #2"

    def test_numbers_are_compared_as_numbers_however_long(self, store: Store) -> None:
        make(store, "X #9", "X #" + "9" * 30, "X #10", "X #" + "1" * 29)
        assert store.sessions.next_title("X") == "X #1" + "0" * 30

    def test_a_title_that_would_be_too_long_is_refused(self, store: Store) -> None:
        make(store, "x" * 1_000)
        with pytest.raises(BadValue, match="1,003 characters"):
            store.sessions.next_title("x" * 1_000)

    @pytest.mark.parametrize("title", ["", None, 7, "a\0b", b"X"])
    def test_what_is_no_title_is_refused(self, store: Store, title: Any) -> None:
        for ask_for in (store.sessions.next_title, store.sessions.by_title):
            with pytest.raises(BadValue):
                ask_for(title)

    # ------------------------------------------------------------ what a title means

    def test_a_title_means_the_newest_of_its_lineage(self, store: Store) -> None:
        first, _ = make(store, "X", "Y")
        assert store.sessions.by_title("X") == first
        tenth, second = make(store, "X #10", "X #2")
        assert store.sessions.by_title("X") == tenth
        assert (store.sessions.by_title("X #2"), store.sessions.by_title("X #10")) == (second, tenth)

    def test_of_equal_titles_the_one_that_was_made_last_is_meant(self, store: Store) -> None:
        first, last = make(store, "X", "X")
        ask(first)  # made last, not changed last
        assert store.sessions.by_title("X") == last
        older, newer = make(store, "X #2", "X #2")
        older.title = "X #2"
        assert store.sessions.by_title("X") == store.sessions.by_title("X #2") == newer

    def test_a_title_that_nobody_has_says_what_is_near_it(self, store: Store) -> None:
        make(store, "X #2", "X #3")
        with pytest.raises(
            SessionNotFound, match="no session has the title 'X #7'; the newest of its lineage is 'X #3'"
        ):
            store.sessions.by_title("X #7")
        with pytest.raises(SessionNotFound, match="no session has the title 'Z'"):
            store.sessions.by_title("Z")


def chain(session: Session, store: Store, count: int) -> list[Session]:
    """So many sessions, each of which continues the one before."""
    line = [session]
    for _ in range(count):
        line.append(store.sessions.create(parent=line[-1], relation="continue"))
    return line


class Continued(Group):
    # ------------------------------------------------------------ the tip

    def test_a_session_that_nothing_continues_is_its_own_tip(self, store: Store, session: Session) -> None:
        session.fork()
        store.sessions.create(parent=session)
        store.sessions.create(parent=session, relation="import")
        assert session.tip() == session

    def test_the_tip_is_the_end_of_the_chain(self, store: Store, session: Session) -> None:
        line = chain(session, store, 5)
        assert [each.tip() for each in line] == [line[-1]] * 6

    def test_of_several_that_continue_one_the_newest_goes_on(self, store: Store, session: Session) -> None:
        chain(session, store, 3)
        newer = chain(session, store, 1)[-1]
        assert session.tip() == newer

    def test_a_deleted_session_is_passed_over_but_not_what_continues_it(self, store: Store, session: Session) -> None:
        _, second, third, fourth = chain(session, store, 3)
        second.delete()
        third.delete()
        assert session.tip() == second.tip() == fourth
        fourth.delete()
        assert (session.tip(), third.tip()) == (session, third)
        third.undelete()
        assert session.tip() == third

    def test_where_the_newest_was_deleted_with_all_that_continued_it_the_next_one_counts(
        self, store: Store, session: Session
    ) -> None:
        older = chain(session, store, 2)
        newer = chain(session, store, 2)
        for each in newer[1:]:
            each.delete()
        assert session.tip() == older[-1]

    def test_an_archived_session_is_a_tip_like_any_other(self, store: Store, session: Session) -> None:
        last = chain(session, store, 1)[-1]
        last.archive()
        assert session.tip() == last

    def test_the_tip_of_what_is_not_there_is_refused(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            Session(store, "ses_0198f0c0ffee00abcdefABCDEF").tip()

    def test_no_session_can_be_made_its_own_ancestor(self, store: Store, session: Session) -> None:
        child = chain(session, store, 1)[-1]
        for given in ({"id": session.id, "parent": child}, {"id": "new", "parent": "new"}):
            with pytest.raises((BadValue, SessionNotFound)):
                store.sessions.create(**given)
        assert store.sessions.get_or_create(session.id, parent=child, relation="continue") == session
        assert (session.ancestors(), child.ancestors(), child.descendants()) == ([], [session.id], [])

    # ------------------------------------------------------------ what is over

    def test_a_list_may_have_only_what_ended(self, store: Store) -> None:
        over, again, _ = (store.sessions.create(title=title, project="p") for title in ("over", "again", "on"))
        over.end("done")
        again.end()
        assert titles(store.sessions.list(ended=True)) == ["again", "over"]
        again.reopen()
        assert (
            titles(store.sessions.list(ended=True)) == titles(store.sessions.list(ended=True, project="p")) == ["over"]
        )
        assert titles(store.sessions.list(ended=True, project="q")) == []

    def test_a_list_may_have_only_what_is_idle_since_a_time(self, store: Store, session: Session) -> None:
        ask(session)
        session.title = "said"
        at = session.info.last_message_at
        assert at is not None
        assert titles(store.sessions.list(idle_since=at)) == []  # at that very time something was said
        assert titles(store.sessions.list(idle_since=at + 1)) == ["said"]
        assert titles(store.sessions.list(idle_since=datetime.fromtimestamp(at / 1000 + 1, UTC))) == ["said"]
        ask(session, "And now?")
        later = session.info.last_message_at
        assert later is not None
        assert titles(store.sessions.list(idle_since=later)) == []

    def test_where_nothing_was_said_its_creation_counts(self, store: Store) -> None:
        session = store.sessions.create(title="bare")
        at = session.info.created_at
        session.update(project="p")  # no word was said
        assert titles(store.sessions.list(idle_since=at)) == []
        assert titles(store.sessions.list(idle_since=at + 1, project="p", order="updated")) == ["bare"]
        session.delete()
        assert titles(store.sessions.list(idle_since=at + 1)) == []
        assert titles(store.sessions.list(idle_since=at + 1, deleted=True)) == ["bare"]
        assert titles(store.sessions.list(idle_since=at, deleted=True)) == []

    @pytest.mark.parametrize("wrong", [{"ended": 1}, {"ended": None}, {"idle_since": "90d"}, {"idle_since": 1.5}])
    def test_what_is_no_time_and_no_flag_is_refused(self, store: Store, wrong: dict[str, Any]) -> None:
        with pytest.raises(BadValue):
            store.sessions.list(**wrong)


def titles(found: Iterable[Any]) -> list[str | None]:
    return [info.title for info in found]
