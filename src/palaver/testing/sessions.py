"""Sessions: made, found, listed and named; sub-agents know where they came from."""

from __future__ import annotations

from typing import Any

import pytest

import palaver
from palaver import AliasTaken, BadValue, Session, SessionDeleted, SessionNotFound, Store

from .group import Group
from .helpers import ask, call, refused, texts


def names(page: palaver.Page) -> list[str | None]:
    return [info.title for info in page.sessions]


class Sessions(Group):
    # ------------------------------------------------------------ create and find

    def test_a_session_is_as_it_was_created(self, store: Store) -> None:
        session = store.sessions.create(
            agent="coder", workspace="/src", model="acme/m-1", title="First", metadata={"b": 1, "a": [2]}
        )
        info = session.info
        assert (info.id, info.agent, info.workspace, info.title) == (session.id, "coder", "/src", "First")
        assert info.model == {"provider_id": "acme", "model_id": "m-1"}
        assert (info.metadata, list(info.metadata)) == ({"b": 1, "a": [2]}, ["b", "a"])
        assert (info.relation, info.parent_id, info.revision, info.turn_id) == ("root", None, 0, None)
        assert (info.turns, info.messages, info.preview, info.archived_at, info.deleted_at) == (0, 0, None, None, None)
        assert session.messages() == []

    def test_a_session_may_have_nothing_but_its_agent(self, store: Store) -> None:
        info = store.sessions.create(agent="coder").info
        assert (info.workspace, info.title, info.metadata) == (None, None, {})

    def test_counts_and_preview_follow_the_conversation(self, session: Session) -> None:
        ask(session, "  What is\n the time? ", "Noon.")
        ask(session, "And now?", "Noon.")
        info = session.info
        assert (info.turns, info.messages, info.preview) == (2, 4, "What is the time?")
        assert info.updated_at >= info.created_at

    def test_a_session_is_found_by_its_id(self, store: Store, session: Session) -> None:
        assert store.sessions.get(session.id) == session
        assert store.sessions.find(session.id) == session

    def test_a_session_may_bring_its_own_id(self, store: Store) -> None:
        own = "ses_0198f0c0ffee00abcdefABCDEF"
        assert store.sessions.create(agent="coder", id=own).id == own

    @pytest.mark.parametrize("foreign", ["mine", "msg_0198f0c0ffee00abcdefABCDEF", "ses_x"])
    def test_an_id_of_another_shape_finds_the_session_too(self, store: Store, foreign: str) -> None:
        session = store.sessions.create(agent="coder", id=foreign)
        assert (len(session.id), session.id[:4], session.id == foreign) == (30, "ses_", False)
        assert store.sessions.get(foreign) == store.sessions.find(foreign) == store.sessions.get(session.id) == session

    @pytest.mark.parametrize("own", ["ses_0198f0c0ffee00abcdefABCDEF", "mine"])
    def test_an_id_is_brought_once(self, store: Store, own: str) -> None:
        first = store.sessions.create(agent="coder", id=own)
        with pytest.raises(BadValue):
            store.sessions.create(agent="coder", id=own)
        assert [info.id for info in store.sessions] == [first.id]

    def test_a_title_can_be_changed_and_taken_away(self, session: Session) -> None:
        session.title = "Über uns"
        assert (session.title, session.info.title) == ("Über uns", "Über uns")
        session.title = None
        assert session.title is None

    # ------------------------------------------------------------ the application's own id

    def test_a_session_is_made_once_and_found_after_that(self, store: Store) -> None:
        first = store.sessions.get_or_create("chat-42", "coder", title="First", metadata={"a": 1})
        again = store.sessions.get_or_create("chat-42", "other", title="Second")
        assert (again, again.info.agent, again.title) == (first, "coder", "First")
        assert store.sessions.get_or_create(first.id) == first
        assert len(store.sessions.list().sessions) == 1

    def test_a_deleted_session_is_neither_found_nor_made_again(self, store: Store) -> None:
        store.sessions.get_or_create("chat-42").delete()
        with pytest.raises(SessionDeleted):
            store.sessions.get_or_create("chat-42")

    @pytest.mark.parametrize("id", ["", "@", None, 7])
    def test_what_can_be_no_id_is_refused(self, store: Store, id: Any) -> None:
        with pytest.raises(BadValue):
            store.sessions.get_or_create(id)
        assert list(store.sessions) == []

    def test_the_applications_id_is_good_wherever_an_id_is(self, store: Store) -> None:
        parent = store.sessions.create(id="chat-42")
        child = store.sessions.create(parent="chat-42", title="child")
        assert (child.info.parent_id, child.ancestors()) == (parent.id, [parent.id])
        assert names(store.sessions.list(parent="chat-42")) == ["child"]
        with pytest.raises(SessionNotFound):
            store.sessions.create(parent="chat-43")

    # ------------------------------------------------------------ metadata

    def test_metadata_is_read_as_a_mapping_that_cannot_be_changed(self, store: Store) -> None:
        session = store.sessions.create(metadata={"k": 1})
        assert dict(session.metadata) == {"k": 1}
        with pytest.raises(TypeError):
            session.metadata["k"] = 2  # type: ignore[index]
        assert dict(session.metadata) == {"k": 1}

    def test_metadata_is_changed_key_by_key_and_the_change_is_an_event(self, store: Store) -> None:
        session = store.sessions.create(metadata={"k": 1, "gone": 2, "stays": [3]})
        before = session.cursor()
        session.update_metadata({"k": 2, "gone": None, "new": {"deep": True}})
        assert dict(session.metadata) == {"k": 2, "stays": [3], "new": {"deep": True}}
        [event] = session.events(after=before)
        assert (event.kind, event.data) == ("metadata", {"changes": {"k": 2, "gone": None, "new": {"deep": True}}})

    def test_a_change_that_changes_nothing_is_no_event(self, store: Store) -> None:
        session = store.sessions.create(metadata={"k": 1})
        before = session.cursor()
        session.update_metadata({"k": 1, "never": None})
        assert session.cursor() == before

    def test_keys_that_are_left_alone_keep_their_bytes(self, store: Store) -> None:
        exact = palaver.Raw(b'{"price":1.10,"big":123456789012345678901234567890}')
        session = store.sessions.create(metadata={"exact": exact})
        session.update_metadata({"k": 1})
        assert session.metadata["exact"]["big"] == 123456789012345678901234567890

    @pytest.mark.parametrize("changes", [None, "k", [1], {"hidden_at": 1}, {"deleted_at": 1}, {"k": float("nan")}])
    def test_what_is_no_change_of_metadata_is_refused(self, session: Session, changes: Any) -> None:
        with refused(session, BadValue):
            session.update_metadata(changes)

    def test_what_is_set_on_a_session_by_mistake_is_refused(self, session: Session) -> None:
        assert session.agent == session.info.agent
        for name in ("agent", "metadata", "model", "anything"):
            with pytest.raises(AttributeError):
                setattr(session, name, "other")

    # ------------------------------------------------------------ lists

    def test_going_through_a_list_goes_through_all_pages(self, store: Store) -> None:
        for n in range(7):
            store.sessions.create(title=str(n), agent="a" if n % 2 else "b")
        assert [info.title for info in store.sessions.list(limit=2)] == list("6543210")
        assert [info.title for info in store.sessions.list(limit=1, agent="a")] == list("531")
        page = store.sessions.list(limit=3)
        assert (names(page), page.next is None) == (["6", "5", "4"], False)
        assert [info.title for info in page] == list("6543210")

    def test_the_list_is_newest_first_by_last_activity(self, store: Store) -> None:
        first, _, third = (store.sessions.create(title=t) for t in ("one", "two", "three"))
        assert names(store.sessions.list()) == ["three", "two", "one"]
        self.until_the_clock_ticks(third)
        ask(first)
        assert names(store.sessions.list()) == ["one", "three", "two"]
        assert [info.title for info in store.sessions] == ["three", "two", "one"]  # by creation: nothing moves

    def until_the_clock_ticks(self, session: Session) -> None:
        """Activity in the same millisecond has no order: work until the next one."""
        start = session.info.updated_at
        probe = session.fork()
        while probe.info.updated_at <= start:
            probe.delete()
            probe = session.fork()
        probe.delete()

    def test_pages_follow_each_other_without_gap_or_repeat(self, store: Store) -> None:
        made = [store.sessions.create(title=str(n)).id for n in range(25)]
        seen: list[str] = []
        after = None
        while True:
            page = store.sessions.list(limit=10, after=after)
            seen += [info.id for info in page.sessions]
            store.sessions.create(title="added while paging")
            after = page.next
            if after is None:
                break
        assert seen == made[::-1]

    def test_a_last_full_page_has_no_next(self, store: Store) -> None:
        for n in range(4):
            store.sessions.create(title=str(n))
        page = store.sessions.list(limit=2)
        assert (names(page), page.next is None) == (["3", "2"], False)
        page = store.sessions.list(limit=2, after=page.next)
        assert (names(page), page.next) == (["1", "0"], None)

    def test_the_list_is_filtered_by_agent_workspace_and_parent(self, store: Store) -> None:
        parent = store.sessions.create(agent="a", workspace="/x", title="ax")
        store.sessions.create(agent="a", workspace="/y", title="ay")
        store.sessions.create(agent="b", workspace="/x", title="bx")
        store.sessions.create(agent="b", title="b")
        store.sessions.create(agent="b", workspace="/x", title="child", parent=parent)
        listed = store.sessions.list
        assert names(listed(agent="a")) == ["ay", "ax"]
        assert names(listed(workspace="/x")) == ["child", "bx", "ax"]
        assert names(listed(agent="b", workspace="/x")) == ["child", "bx"]
        assert names(listed(parent=parent)) == names(listed(parent=parent.id)) == ["child"]
        assert (names(listed(parent=parent, agent="a")), names(listed(agent="nobody"))) == ([], [])

    @pytest.mark.parametrize("limit", [0, -1, 10_001])
    def test_a_page_has_a_sensible_size(self, store: Store, limit: int) -> None:
        with pytest.raises(BadValue):
            store.sessions.list(limit=limit)

    @pytest.mark.parametrize("cursor", ["nonsense", "é", "MTIz!", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTkgeA=="])
    def test_a_made_up_cursor_is_refused(self, store: Store, cursor: str) -> None:
        with pytest.raises(BadValue):
            store.sessions.list(after=cursor)

    # ------------------------------------------------------------ aliases

    def test_an_alias_is_another_name_for_the_session(self, store: Store, session: Session) -> None:
        session.alias("main")
        session.alias("Main", namespace="slug")
        assert session.aliases() == [("alias", "main"), ("slug", "Main")]
        assert store.sessions.find("main") == store.sessions.find("Main", namespace="slug") == session
        with pytest.raises(SessionNotFound):
            store.sessions.find("main", namespace="slug")

    def test_an_alias_is_unique_in_its_namespace(self, store: Store, session: Session) -> None:
        other = store.sessions.create(agent="coder")
        session.alias("main")
        session.alias("main")
        with refused(other, AliasTaken) as caught:
            other.alias("main")
        error = caught.value
        assert (error.namespace, error.name, error.session_id) == ("alias", "main", session.id)
        other.alias("main", namespace="slug")
        assert store.sessions.find("main", namespace="slug") == other
        with pytest.raises(BadValue):
            store.sessions.find("main")

    def test_an_alias_that_was_taken_away_is_free(self, store: Store, session: Session) -> None:
        other = store.sessions.create(agent="coder")
        session.alias("main")
        with pytest.raises(SessionNotFound):
            other.unalias("main")
        session.unalias("main")
        with pytest.raises(SessionNotFound):
            store.sessions.find("main")
        other.alias("main")
        assert store.sessions.find("main") == other

    def test_a_thread_key_names_one_turn(self, store: Store, session: Session) -> None:
        first, second = ask(session), ask(session)
        session.alias("k-1", namespace="thread_key", turn=first.id)
        with refused(session, AliasTaken):
            session.alias("k-1", namespace="thread_key", turn=second.id)
        assert store.sessions.find("k-1", namespace="thread_key") == session

    def test_a_thread_key_needs_a_turn_that_is_there(self, session: Session) -> None:
        with refused(session, palaver.TurnNotFound):
            session.alias("k-1", namespace="thread_key", turn="trn_nobody")

    # ------------------------------------------------------------ sub-agents

    def test_a_sub_agent_knows_its_parent(self, store: Store, session: Session) -> None:
        ask(session, "Research it.", "I will.")
        question = session.messages()[0]["id"]
        turn = call(session.turn("Go on."), "c1", "task")
        child = store.sessions.create(agent="helper", parent=session, tool_call_id="c1")
        info = child.info
        assert (info.relation, info.parent_id, info.agent) == ("spawn", session.id, "helper")
        assert info.parent_message_id in (question, session.messages()[2]["id"])
        assert (child.messages(), child.ancestors(), session.descendants()) == ([], [session.id], [child.id])
        ask(child, "Find out.", "Found.")
        turn.seal()
        assert texts(session)[:3] == ["Research it.", "I will.", "Go on."]
        assert texts(child) == ["Find out.", "Found."]

    def test_a_sub_agent_needs_a_parent_that_is_there(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            store.sessions.create(agent="helper", parent="ses_nobody")
        assert list(store.sessions) == []
