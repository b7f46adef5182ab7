"""Facts: what a session belongs to. Given with it, changed, inherited, and what lists go by."""

from __future__ import annotations

from typing import Any

import pytest

import palaver
from palaver import BadValue, Session, SessionDeleted, Store

from .group import Group
from .helpers import ask, refused

NAMED = {
    "source": "telegram",
    "user": "u-1",
    "account": "a-1",
    "project": "p-1",
    "workspace_id": "w-1",
    "persona": "kind",
    "routing_key": "chat:7",
    "task": "Fix it.\nThen rest.",
    "version": "2",
    "provider": "direct",
    "policy": "strict",
}


def titles(page: palaver.Page) -> list[str | None]:
    return [info.title for info in page.sessions]


class Facts(Group):
    # ------------------------------------------------------------ given

    def test_facts_are_as_they_were_given(self, store: Store) -> None:
        named: Any = NAMED
        session = store.sessions.create("coder", facts={"ticket": "7", "Über uns": "日本 ❤"}, **named)
        assert dict(session.facts) == {**NAMED, "ticket": "7", "Über uns": "日本 ❤"}
        assert dict(store.sessions.create("coder").facts) == {}

    def test_facts_are_read_as_a_mapping_that_cannot_be_changed(self, store: Store) -> None:
        session = store.sessions.create(project="x")
        with pytest.raises(TypeError):
            session.facts["project"] = "y"  # type: ignore[index]
        with pytest.raises(AttributeError):
            session.facts = {}  # type: ignore[misc]
        assert session.facts["project"] == "x"

    def test_who_finds_a_session_leaves_its_facts_alone(self, store: Store) -> None:
        made = store.sessions.get_or_create("chat-1", project="x", facts={"ticket": "7"})
        again = store.sessions.get_or_create("chat-1", project="y")
        assert (again, dict(again.facts)) == (made, {"project": "x", "ticket": "7"})

    def test_a_name_that_has_a_keyword_may_come_with_the_others(self, store: Store) -> None:
        one, other = store.sessions.create(project="x"), store.sessions.create(facts={"project": "x", "gone": None})
        assert dict(one.facts) == dict(other.facts) == {"project": "x"}
        with pytest.raises(BadValue):
            store.sessions.create(project="x", facts={"project": "x"})

    @pytest.mark.parametrize(
        "given",
        [
            {"project": 7},
            {"project": b"x"},
            {"project": "x" * 513},
            {"project": "ü" * 257},
            {"project": "a\0b"},
            {"project": "\ud800"},
            {"facts": {"": "x"}},
            {"facts": {"a\nb": "x"}},
            {"facts": {"a\x7f": "x"}},
            {"facts": {7: "x"}},
            {"facts": {"n" * 65: "x"}},
            {"facts": {"ü" * 33: "x"}},
            {"facts": {"ticket": ["7"]}},
            {"facts": "ticket"},
            {"facts": [("ticket", "7")]},
        ],
        ids=repr,
    )
    def test_what_can_be_no_fact_is_refused_and_nothing_is_changed(self, store: Store, given: Any) -> None:
        session = store.sessions.create(title="only", project="x")
        with refused(session, BadValue):
            session.update(**{"user": "u", **given})
        for verb in (store.sessions.create, store.sessions.list):
            with pytest.raises(BadValue):
                verb(**given)
        assert (titles(store.sessions.list()), dict(session.facts)) == (["only"], {"project": "x"})

    def test_a_fact_has_room_for_512_bytes_and_its_name_for_64(self, store: Store) -> None:
        name, value = "n" * 64, "ü" * 256
        session = store.sessions.create(facts={name: value, "empty": ""})
        assert dict(session.facts) == {name: value, "empty": ""}
        assert len(store.sessions.list(facts={name: value, "empty": ""}).sessions) == 1

    def test_a_misspelt_fact_is_a_slip(self, store: Store, session: Session) -> None:
        wrong: Any = {"projct": "x"}
        for verb in (store.sessions.create, store.sessions.list, session.update):
            with pytest.raises(TypeError, match=r"'projct'; there are .*project"):
                verb(**wrong)

    # ------------------------------------------------------------ changed

    def test_facts_are_changed_one_by_one_and_the_change_is_an_event(self, store: Store) -> None:
        session = store.sessions.create(project="x", user="u", facts={"ticket": "7"})
        before = session.cursor()
        session.update(project="y", facts={"ticket": None, "branch": "main"})
        assert dict(session.facts) == {"project": "y", "user": "u", "branch": "main"}
        (event,) = session.events(after=before)
        changes = {"project": "y", "ticket": None, "branch": "main"}
        assert (event.kind, event.turn, event.data) == ("update", None, {"facts": changes})

    def test_the_workspace_and_the_model_are_changed_with_them(self, store: Store) -> None:
        session = store.sessions.create(workspace="/a", model="acme/m-1", project="x")
        before = session.cursor()
        session.update(workspace="/b", model="acme/m-2", project="x")
        model = {"provider_id": "acme", "model_id": "m-2"}
        assert (session.info.workspace, session.info.model, dict(session.facts)) == ("/b", model, {"project": "x"})
        (event,) = session.events(after=before)
        assert event.data == {"workspace": "/b", "model": model}
        assert len(store.sessions.list(workspace="/b").sessions) == 1
        session.update(workspace=None, model=None)
        assert (session.info.workspace, session.info.model["model_id"]) == (None, "")

    def test_an_update_that_changes_nothing_is_no_event(self, store: Store) -> None:
        session = store.sessions.create(workspace="/a", model="acme/m-1", project="x")
        before = session.cursor()
        session.update(project="x", facts={"never": None}, workspace="/a", model="acme/m-1")
        session.update()
        assert session.cursor() == before

    def test_an_update_is_refused_as_a_whole(self, session: Session) -> None:
        for wrong in ({"model": 7}, {"workspace": 7}, {"workspace": "a\nb"}):
            given: Any = wrong
            with refused(session, BadValue):
                session.update(project="y", **given)

    def test_facts_of_an_archived_session_can_be_changed_of_a_deleted_one_not(self, store: Store) -> None:
        session = store.sessions.create(project="x")
        session.archive()
        session.update(project="y")
        assert dict(session.facts) == {"project": "y"}
        session.delete()
        with refused(session, SessionDeleted):
            session.update(project="z")
        session.undelete()
        assert titles(store.sessions.list(project="y")) == [None]

    # ------------------------------------------------------------ inherited

    def test_a_fork_and_a_sub_agent_have_the_facts_but_not_the_task_and_the_routing_key(self, store: Store) -> None:
        named: Any = NAMED
        session = store.sessions.create("coder", facts={"ticket": "7"}, **named)
        ask(session)
        kept = {**NAMED, "ticket": "7"}
        del kept["task"], kept["routing_key"]
        fork, child = session.fork(), store.sessions.create("helper", parent=session)
        assert dict(fork.facts) == dict(child.facts) == dict(fork.fork().facts) == kept
        session.update(project="other")
        assert fork.facts["project"] == child.facts["project"] == "p-1"

    def test_what_is_given_to_a_sub_agent_comes_before_what_it_has_from_its_parent(self, store: Store) -> None:
        parent = store.sessions.create(project="x", user="u", facts={"ticket": "7"})
        child = store.sessions.create(parent=parent, project="y", user=None, task="look", facts={"ticket": None})
        assert dict(child.facts) == {"project": "y", "task": "look"}

    def test_who_continues_a_session_takes_over_all_its_facts_and_an_import_none(self, store: Store) -> None:
        parent = store.sessions.create(project="x", task="t", routing_key="k")
        went_on = store.sessions.create(parent=parent, relation="continue")
        brought = store.sessions.create(parent=parent, relation="import", source="old")
        assert dict(went_on.facts) == {"project": "x", "task": "t", "routing_key": "k"}
        assert dict(brought.facts) == {"source": "old"}

    # ------------------------------------------------------------ listed

    def test_a_list_by_facts_has_the_sessions_that_have_all_of_them(self, store: Store) -> None:
        create, listed = store.sessions.create, store.sessions.list
        create("a", title="1", project="x", user="u")
        create("b", title="2", project="x", user="v", facts={"ticket": "7"})
        create("b", title="3", project="y", user="u", workspace="/w")
        create("a", title="4", project="x", user="u", facts={"ticket": "7"}, workspace="/w")
        create("a", title="5")
        for order in (None, "created", "updated"):
            assert titles(listed(project="x", order=order)) == ["4", "2", "1"]
            assert titles(listed(project="x", user="u", order=order)) == ["4", "1"]
            assert titles(listed(user="u", project="x", facts={"ticket": "7"}, order=order)) == ["4"]
            assert titles(listed(project="x", agent="a", order=order)) == ["4", "1"]
            assert titles(listed(user="u", workspace="/w", order=order)) == ["4", "3"]
            assert titles(listed(project="y", facts={"ticket": "7"}, order=order)) == []
            assert titles(listed(project="X", order=order)) == titles(listed(facts={"x": "project"}, order=order)) == []
        assert titles(listed(project=None)) == ["5", "4", "3", "2", "1"]

    def test_a_list_by_facts_knows_archived_deleted_and_parents(self, store: Store) -> None:
        parent = store.sessions.create(title="parent", project="x")
        child = store.sessions.create(title="child", parent=parent)
        store.sessions.create(title="stranger", parent=parent, project="y")
        archived, deleted = (store.sessions.create(title=title, project="x") for title in ("archived", "deleted"))
        archived.archive()
        deleted.delete()
        for order in (None, "updated"):
            assert titles(store.sessions.list(project="x", parent=parent, order=order)) == ["child"]
            assert set(titles(store.sessions.list(project="x", order=order))) == {"child", "parent"}
            everything = store.sessions.list(project="x", order=order, archived=True)
            assert set(titles(everything)) == {"archived", "child", "parent"}
        assert titles(store.sessions.list(project="x", deleted=True)) == ["deleted"]
        assert titles(store.sessions.list(project="y", deleted=True)) == []
        assert titles(store.sessions.list(project="x", waiting=True)) == []
        child.update(project=None)
        assert titles(store.sessions.list(project="x")) == ["parent"]

    def test_a_list_by_a_fact_goes_by_creation_page_by_page(self, store: Store) -> None:
        made = [store.sessions.create(title=str(n), project="x" if n % 3 else "y") for n in range(12)]
        made[1].update(user="u")
        ask(made[2])
        page = store.sessions.list(project="x", limit=3)
        assert (titles(page), page.next is None) == (["11", "10", "8"], False)
        store.sessions.create(title="later", project="x")
        made[7].archive()
        assert titles(store.sessions.list(project="x", limit=3, after=page.next)) == ["5", "4", "2"]
        assert [info.title for info in page] == ["11", "10", "8", "5", "4", "2", "1"]

    def test_a_list_by_a_fact_may_go_by_update(self, store: Store) -> None:
        made = [store.sessions.create(title=str(n), project="x") for n in range(5)]
        self.until_the_clock_ticks(made[4])
        ask(made[1])
        assert titles(store.sessions.list(project="x", order="updated"))[0] == "1"
        assert len(list(store.sessions.list(project="x", order="updated", limit=2))) == 5
        assert titles(store.sessions.list(project="x")) == ["4", "3", "2", "1", "0"]

    def until_the_clock_ticks(self, session: Session) -> None:
        """Activity in the same millisecond has no order: work until the next one."""
        start = session.info.updated_at
        probe = session.fork()
        while probe.info.updated_at <= start:
            probe.delete()
            probe = session.fork()
        probe.delete()

    def test_a_cursor_is_good_for_lists_of_its_kind(self, store: Store) -> None:
        for _ in range(3):
            store.sessions.create(project="x")
        by_fact = store.sessions.list(project="x", limit=1).next
        for other in (store.sessions.list(limit=1).next, store.sessions.list(order="created", limit=1).next):
            assert other is not None
            with pytest.raises(BadValue):
                store.sessions.list(project="x", after=other)
        for order in ("created", "updated"):
            with pytest.raises(BadValue):
                store.sessions.list(after=by_fact, order=order)

    def test_a_list_is_by_at_most_twelve_facts(self, store: Store) -> None:
        facts = {f"n{number}": "v" for number in range(13)}
        session = store.sessions.create(facts=facts)
        del facts["n7"]
        assert [info.id for info in store.sessions.list(facts=facts)] == [session.id]
        assert store.sessions.list(facts={**facts, "n3": "w"}).sessions == []
        with pytest.raises(BadValue):
            store.sessions.list(facts={**facts, "n7": "v"})
