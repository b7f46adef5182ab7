"""Grafts: history from elsewhere comes in whole and once, with its own times, and never over what happened here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from palaver import (
    BadValue,
    GraftCompaction,
    GraftedSession,
    GraftItem,
    GraftMove,
    GraftRefused,
    GraftReport,
    GraftSession,
    GraftTurn,
    GraftUsage,
    Store,
)

from .group import Group
from .helpers import say, texts

YEAR = 1_600_000_000_000  # in 2020


def item(name: str | None, words: str, **where: Any) -> GraftItem:
    return GraftItem(json.dumps({"id": name, "text": words}).encode(), name, **where)


def spoken(name: str | None, words: str, **more: Any) -> GraftTurn:
    """A question and its answer, which are one item of their source."""
    messages = [{"role": "user", "content": words}, {"role": "assistant", "content": f"{words}!"}]
    return GraftTurn([item(name, words)], messages, **more)


def lines(names: str) -> GraftTurn:
    """A turn of several items, a question each; it can be divided behind any of them."""

    def rest(known: int) -> GraftTurn:
        return GraftTurn([], [{"role": "user", "content": name} for name in names[known:]])

    return GraftTurn([item(name, name) for name in names], rest=rest)


def source(*turns: GraftTurn | GraftMove, **more: Any) -> GraftSession:
    return GraftSession("there", "s-1", turns, **more)


def bring(store: Store, *turns: GraftTurn | GraftMove, **more: Any) -> GraftedSession:
    [found] = store.graft(source(*turns, **more)).sessions
    return found


class Grafts(Group):
    # ------------------------------------------------------------ what comes in

    def test_a_session_comes_in_with_its_times(self, store: Store) -> None:
        turns = [spoken(f"i{n}", f"word {n}", started_at=YEAR + n, sealed_at=YEAR + n + 500) for n in (1000, 2000)]
        done = bring(store, *turns, agent="guide", title="Long ago", created_at=YEAR, facts={"project": "x"})
        assert (done.is_new, done.turns, done.items, done.known, done.beside) == (True, 2, 2, 0, 0)
        session = store.sessions.get("s-1")  # the source's id is a name of it
        info = session.info
        assert (info.agent, info.title, info.relation, info.created_at) == ("guide", "Long ago", "import", YEAR)
        assert dict(session.facts) == {"project": "x"}
        assert texts(session) == ["word 1000", "word 1000!", "word 2000", "word 2000!"]
        assert [(turn.started_at, turn.sealed_at) for turn in session.path()] == [
            (YEAR + 1000, YEAR + 1500),
            (YEAR + 2000, YEAR + 2500),
        ]
        assert [message.created_at for message in session.transcript()] == [
            *(YEAR + 1000, YEAR + 1001),
            *(YEAR + 2000, YEAR + 2001),
        ]
        assert [(line.kind, line.at) for line in session.history()] == [
            *(("create", YEAR), ("graft", YEAR + 1500)),
            ("graft", YEAR + 2500),
        ]
        assert info.updated_at == YEAR + 2001
        assert session.at(YEAR + 1600).messages()[-1]["parts"][0]["text"] == "word 1000!"

    def test_a_message_as_json_bytes_keeps_them_and_its_time(self, store: Store) -> None:
        said = b'{"role":"user","parts":[{"type":"data-x","data":{"n": 1.10}}],"created_at":1600000000000}'
        store.graft(GraftSession("there", "s-1", [GraftTurn([GraftItem(said, "i-1")], [said])]))
        session = store.sessions.get("s-1")
        assert '{"n": 1.10}' in session.messages_json()
        assert [message.created_at for message in session.transcript()] == [1_600_000_000_000]

    def test_what_is_over_there_is_over_here_at_its_own_time_and_once(self, store: Store) -> None:
        bring(store, spoken("a", "one"), created_at=YEAR)
        session = store.sessions.get("s-1")
        assert not session.info.ended_at
        bring(store, spoken("a", "one"), created_at=YEAR, ended_at=YEAR + 9, end_reason="user_exit")
        assert (session.info.ended_at, session.info.end_reason) == (YEAR + 9, "user_exit")
        before = session.cursor()
        bring(store, spoken("a", "one"), ended_at=YEAR + 10, end_reason="later")
        assert (session.info.ended_at, session.cursor()) == (YEAR + 9, before)
        store.graft(GraftSession("there", "empty", [], ended_at=YEAR, created_at=YEAR))
        assert store.sessions.get("empty").info.ended_at == YEAR
        refused: list[dict[str, Any]] = [{"ended_at": -1}, {"end_reason": "y"}, {"ended_at": YEAR, "end_reason": ""}]
        for wrong in refused:
            with pytest.raises(GraftRefused):
                store.graft(GraftSession("there", "wrong", [], **wrong))

    def test_a_fact_that_is_none_is_not_taken_over_from_the_parent(self, store: Store) -> None:
        store.graft(GraftSession("there", "first", [], facts={"user": "u", "source": "cli"}))
        store.graft(GraftSession("there", "second", [], parent="first", relation="continue", facts={"user": None}))
        assert dict(store.sessions.get("second").facts) == {"source": "cli"}

    def test_messages_have_times_and_ids_of_their_own(self, store: Store) -> None:
        said = [
            {"id": "m1", "role": "user", "content": "early", "created_at": YEAR},
            {"id": "m2", "role": "assistant", "content": "late", "created_at": YEAR + 60_000},
        ]
        bring(store, GraftTurn([item("a", "x")], said))
        session = store.sessions.get("s-1")
        assert [message["id"] for message in session.messages()] == ["m1", "m2"]
        assert [message.created_at for message in session.transcript()] == [YEAR, YEAR + 60_000]

    def test_where_a_time_is_taken_the_next_one_is_used_and_the_own_one_kept(self, store: Store) -> None:
        bring(store, *(spoken(name, name, started_at=YEAR) for name in ("a", "b")))
        rows = store.sessions.get("s-1").transcript()
        assert [message.created_at for message in rows] == [YEAR, YEAR + 1, YEAR + 2, YEAR + 3]
        said = {"role": "user", "content": "before all", "created_at": YEAR - 5}
        bring(store, spoken("a", "a", started_at=YEAR), GraftTurn([item("z", "z")], [said]))
        session = store.sessions.get("s-1")
        assert session.transcript()[-1].created_at == YEAR + 4
        assert session.path()[-1].facts == {"original_at": [YEAR - 5]}

    def test_status_usage_options_and_facts_come_with_a_turn(self, store: Store) -> None:
        model = {"provider_id": "acme", "model_id": "old"}
        used = [
            GraftUsage({"input": 10, "output": 4}, cost_usd=0.25, key="r1", at=YEAR),
            GraftUsage({"prompt_tokens": 7, "completion_tokens": 1}, key="r2", model="acme/small"),
        ]
        options = {"model": model, "agent": "helper", "system_prompt": "Be brief."}
        more = {"usage": used, "options": options, "status": "failed", "facts": {"branch": "main", "finish": "length"}}
        bring(store, spoken("a", "go", **more))
        session = store.sessions.get("s-1")
        [turn] = session.path()
        assert (turn.status, turn.model, turn.agent, turn.finish) == ("failed", model, "helper", "length")
        assert (turn.usage.input, turn.usage.output, turn.cost_usd) == (17, 5, 0.25)
        assert store.system_prompt(turn.system_prompt or "") == "Be brief."
        entries = [(entry.key, entry.source, entry.model, entry.usage.input) for entry in session.usage()]
        assert entries == [("r1", "there", "old", 10), ("r2", "there", "small", 7)]
        assert session.usage()[0].at == YEAR
        assert (session.info.usage.input, session.info.cost_usd) == (17, 0.25)
        assert turn.facts == {"branch": "main"}

    def test_items_are_kept_byte_for_byte_with_their_place(self, store: Store) -> None:
        large = b'{"text": "' + b"word " * 2_000 + b'\xff"}'  # no text at all
        given = [GraftItem(b'{"a":  1.50}', "a", "log.jsonl", 0), GraftItem(large, "b", "log.jsonl", 13)]
        bring(store, GraftTurn(given, ["hello"]))
        [turn] = store.sessions.get("s-1").path()
        natives = store.natives(turn.id)
        assert [(native.item, native.body, native.file, native.place) for native in natives] == [
            ("a", b'{"a":  1.50}', "log.jsonl", 0),
            ("b", large, "log.jsonl", 13),
        ]
        assert store.natives("trn_nothing") == []

    def test_a_compaction_comes_in_and_the_context_begins_there(self, store: Store) -> None:
        summary = GraftTurn([item("c", "c")], compaction=GraftCompaction("All of it.", keep_from="b"), started_at=YEAR)
        bring(store, spoken("a", "one"), spoken("b", "two"), summary, spoken("d", "three"))
        session = store.sessions.get("s-1")
        assert [turn.kind for turn in session.path()] == ["turn", "turn", "compaction", "turn"]
        assert "All of it." in json.dumps(session.context()) and "one" not in json.dumps(session.context())
        assert "two" in json.dumps(session.context())

    def test_an_empty_session_is_one_all_the_same(self, store: Store) -> None:
        assert bring(store).is_new and not bring(store).is_new
        assert store.sessions.get("s-1").messages() == []

    # ------------------------------------------------------------ once

    def test_the_same_again_writes_nothing(self, store: Store) -> None:
        turns = [spoken("a", "one"), spoken("b", "two"), spoken(None, "three")]
        bring(store, *turns)
        session = store.sessions.get("s-1")
        before = (session.revision, len(session.events()), session.tree())
        again = bring(store, *turns)
        assert (again.is_new, again.turns, again.known) == (False, 0, 3)
        assert (session.revision, len(session.events()), session.tree()) == before

    def test_what_we_make_of_an_item_does_not_decide_whether_it_is_the_same(self, store: Store) -> None:
        bring(store, spoken("a", "one"))
        better = GraftTurn([item("a", "one")], [{"role": "user", "content": "one, mapped better"}])
        assert bring(store, better).turns == 0

    def test_what_grew_at_the_end_becomes_a_child(self, store: Store) -> None:
        bring(store, spoken("a", "one"))
        assert bring(store, spoken("a", "one"), spoken("b", "two")).turns == 1
        assert texts(store.sessions.get("s-1")) == ["one", "one!", "two", "two!"]

    def test_a_turn_that_grew_goes_on_with_its_new_items(self, store: Store) -> None:
        for count in (1, 2, 4):
            bring(store, lines("abcd"[:count]))
        session = store.sessions.get("s-1")
        assert texts(session) == ["a", "b", "c", "d"]
        assert [len(session.messages_of(turn.id)) for turn in session.path()] == [1, 1, 2]
        assert bring(store, lines("abcd")).turns == 0

    def test_a_turn_that_cannot_be_divided_comes_in_again_beside(self, store: Store) -> None:
        def turn(*names: str) -> GraftTurn:
            return GraftTurn([item(name, name) for name in names], [{"role": "user", "content": " ".join(names)}])

        bring(store, turn("a"))
        assert bring(store, turn("a", "b")).turns == 1
        session = store.sessions.get("s-1")
        assert (texts(session), len(session.tree())) == (["a b"], 2)
        assert bring(store, turn("a", "b")).turns == 0

    def test_a_change_makes_siblings_of_what_follows(self, store: Store) -> None:
        bring(store, spoken("a", "one"), spoken("b", "two"), spoken("c", "three"))
        assert bring(store, spoken("a", "one"), spoken("b", "TWO"), spoken("c", "three")).turns == 2
        session = store.sessions.get("s-1")
        assert texts(session) == ["one", "one!", "TWO", "TWO!", "three", "three!"]
        assert len(session.tree()) == 5
        assert bring(store, spoken("a", "one"), spoken("b", "two"), spoken("c", "three")).turns == 0
        assert texts(session)[2] == "two"  # the source took it back, and the head went with it

    def test_an_item_without_an_id_is_known_by_its_place(self, store: Store) -> None:
        bring(store, spoken(None, "yes"), spoken(None, "yes"))
        done = bring(store, spoken(None, "yes"), spoken(None, "yes"), spoken(None, "yes"))
        assert (done.turns, done.known) == (1, 2)

    def test_an_older_copy_of_a_source_has_nothing_new_and_takes_nothing_back(self, store: Store) -> None:
        def turn(*names: str) -> GraftTurn:
            return GraftTurn([item(name, name) for name in names], [{"role": "user", "content": " ".join(names)}])

        bring(store, spoken("x", "first"), turn("a", "b"))
        session = store.sessions.get("s-1")
        before = (texts(session), len(session.tree()), session.revision)
        for older in ((spoken("x", "first"), turn("a")), (spoken("x", "first"),)):
            assert bring(store, *older).turns == 0
            assert (texts(session), len(session.tree()), session.revision) == before
        bring(store, spoken("x", "first"), turn("a"), spoken("c", "other"))  # now something comes after the piece
        assert texts(session) == ["first", "first!", "a", "other", "other!"]

    def test_a_turn_that_the_source_has_twice_is_written_once(self, store: Store) -> None:
        twice = (spoken("a", "one", parent=None), spoken("a", "one", parent=None), spoken("b", "two", parent="a"))
        assert (bring(store, *twice).turns, bring(store, *twice).turns) == (2, 0)
        assert len(store.sessions.get("s-1").tree()) == 2

    # ------------------------------------------------------------ branches and the head

    def test_turns_hang_under_any_parent_and_the_head_is_where_the_source_s_is(self, store: Store) -> None:
        bring(
            store,
            *(spoken("a", "one"), spoken("b", "two"), spoken("c", "three", parent="a"), GraftMove("b", YEAR, "back")),
        )
        session = store.sessions.get("s-1")
        assert texts(session) == ["one", "one!", "two", "two!"]
        assert [line.kind for line in session.history()] == ["create"] + ["graft"] * 4
        assert session.history()[-1].reason == "back"
        branch = next(turn for turn in session.tree() if "three" in str(session.messages_of(turn.id)[0].parts))
        assert texts(session.fork(at=branch.id)) == ["one", "one!", "three", "three!"]

    def test_a_turn_may_come_before_its_parent(self, store: Store) -> None:
        turns = (
            *(spoken("c", "three", parent="b"), spoken("d", "four")),
            *(spoken("b", "two", parent="a"), spoken("a", "one", parent=None)),
        )
        bring(store, *turns, GraftMove("d"))
        session = store.sessions.get("s-1")
        assert texts(session)[::2] == ["one", "two", "three", "four"]
        revision = session.revision
        assert (bring(store, *turns, GraftMove("d")).turns, session.revision) == (0, revision)

    def test_a_move_of_the_source_is_told_once(self, store: Store) -> None:
        turns: list[GraftTurn | GraftMove] = [spoken("a", "one"), spoken("b", "two"), GraftMove("a", YEAR, "back")]
        bring(store, *turns, spoken("c", "three"))
        bring(store, *turns, spoken("c", "three"), spoken("d", "four"))
        reasons = [line.reason for line in store.sessions.get("s-1").history()]
        assert reasons.count("back") == 1

    def test_a_fork_takes_in_nothing_in_the_place_of_what_it_shows(self, store: Store) -> None:
        session = store.sessions.create(agent="coder")
        session.commit("ours")
        fork = session.fork()
        assert bring(store, spoken("a", "one", parent=None), into=fork.id).beside == 1
        assert texts(fork) == ["ours"]

    def test_what_is_kept_beside_changes_nothing_of_the_session(self, store: Store) -> None:
        bring(store, spoken("a", "one", options={"model": "acme/old"}, started_at=YEAR))
        session = store.sessions.get("s-1")
        session.commit("ours")
        info = session.info
        bring(store, spoken("a", "one", started_at=YEAR), spoken("b", "two", options={"model": "acme/new"}))
        after = session.info
        assert (after.model, after.preview, after.last_message_at) == (info.model, info.preview, info.last_message_at)

    def test_a_time_far_ahead_does_not_take_the_session_s_clock_along(self, store: Store) -> None:
        ahead = {"role": "user", "content": "from the future", "created_at": 15_000_000_000_000}
        bring(store, GraftTurn([item("a", "a")], [ahead]))
        session = store.sessions.get("s-1")
        session.commit("now")
        first, second = session.transcript()
        assert first.created_at < second.created_at < 15_000_000_000_000
        assert session.path()[0].facts["original_at"] == [15_000_000_000_000]

    def test_what_was_said_here_since_stays_and_new_turns_are_kept_beside(self, store: Store) -> None:
        bring(store, spoken("a", "one"))
        session = store.sessions.get("s-1")
        say(session.turn("ours"), "here")
        done = bring(store, spoken("a", "one"), spoken("b", "two"))
        assert (done.turns, done.beside) == (1, 1)
        assert texts(session) == ["one", "one!", "ours", "here"]
        [stray] = session.strays()
        assert texts(session.fork(at=stray.id)) == ["one", "one!", "two", "two!"]
        assert bring(store, spoken("a", "one"), spoken("b", "two")).turns == 0

    def test_an_open_turn_keeps_its_place(self, store: Store) -> None:
        bring(store, spoken("a", "one"))
        session = store.sessions.get("s-1")
        turn = session.turn("ours")
        turn.text("half")
        assert bring(store, spoken("a", "one"), spoken("b", "two")).beside == 1
        turn.text(" and more")
        turn.seal()
        assert texts(session) == ["one", "one!", "ours", "half and more"]

    def test_after_an_undo_of_what_was_done_here_the_head_follows_again(self, store: Store) -> None:
        bring(store, spoken("a", "one"))
        session = store.sessions.get("s-1")
        session.commit("ours")
        session.undo()
        assert bring(store, spoken("a", "one"), spoken("b", "two")).beside == 0
        assert texts(session) == ["one", "one!", "two", "two!"]

    def test_archived_and_deleted_sessions_are_left_alone(self, store: Store) -> None:
        bring(store, spoken("a", "one"))
        session = store.sessions.get("s-1")
        session.archive()
        done = bring(store, spoken("a", "one"), spoken("b", "two"))
        assert (done.skipped, done.session_id) == ("archived", session.id)
        session.delete()
        assert bring(store, spoken("a", "one"), spoken("b", "two")).skipped == "deleted"

    def test_a_session_that_is_there_takes_turns_in(self, store: Store) -> None:
        session = store.sessions.create(agent="coder")
        bring(store, spoken("a", "one"), into=session.id)
        assert texts(session) == ["one", "one!"]
        under = session.path()[0].id
        bring(store, spoken("z", "else", parent=under), into=session.id)
        assert texts(session) == ["one", "one!", "else", "else!"]

    def test_a_sub_agent_s_session_comes_from_its_parent_s(self, store: Store) -> None:
        parent = source(spoken("a", "one"))
        child = GraftSession("there", "s-2", [spoken("a", "task")], parent="s-1")
        store.graft([parent, child])
        assert store.sessions.get("s-2").ancestors() == [store.sessions.get("s-1").id]

    # ------------------------------------------------------------ what is refused

    @pytest.mark.parametrize(
        ("bad", "why"),
        [
            (spoken("b", "two", started_at=-1), "1970"),
            (spoken("b", "two", sealed_at=99_999_999_999_999), "2500"),
            (spoken("b", "two", status="streaming"), "completed, failed or aborted"),
            (GraftTurn([item("b", "b")], [{"role": "robot", "content": "x"}]), "role is"),
            (spoken("b", "two", options={"model": 3}), "model"),
            (spoken("b", "two", facts={"tools_digest": "x"}), "Palaver's own"),
            (GraftTurn([]), "at least one item"),
            (spoken("b", "two", options={"modle": "x"}), "modle"),
            (spoken("b", "two", usage=[{"input": 1}]), "GraftUsage"),
            (spoken("b", "two", parent=["a"]), "parent"),
            (spoken("b", "two", facts={"homeless": 3}), "Palaver's own"),
            (spoken("b", "two", usage=[GraftUsage({"input": n}, key="k") for n in (1, 2)]), "something else"),
            ("a turn", "GraftTurns and GraftMoves"),
            (spoken("#1", "two"), "begin with '#'"),
        ],
    )
    def test_a_turn_that_cannot_be_is_told_with_its_place_and_the_rest_is_kept(
        self, store: Store, bad: GraftTurn, why: str
    ) -> None:
        report = refused(store, source(spoken("a", "one"), bad, spoken("c", "three")))
        [problem] = report.problems
        assert why in str(problem) and isinstance(problem.error, BadValue)
        assert texts(store.sessions.get("s-1")) == ["one", "one!", "three", "three!"]

    @pytest.mark.parametrize("refusals", [0, 1, 2])
    def test_what_goes_on_after_the_beginning_of_a_longer_turn_stands_on_it_whatever_is_refused_between(
        self, store: Store, refusals: int
    ) -> None:
        """An older copy of the source went on otherwise: what it shares becomes a turn of its own."""
        bring(store, lines("abc"))
        turns = [lines("ab"), *(spoken(f"bad {n}", "", status="pending") for n in range(refusals)), lines("y")]
        if refusals:
            assert len(refused(store, source(*turns)).problems) == refusals
        else:
            bring(store, *turns)
        session = store.sessions.get("s-1")
        assert (texts(session), len(session.tree())) == (["a", "b", "y"], 3)
        assert session.info.turn_id in [turn.id for turn in session.tree()]

    def test_the_items_of_the_beginning_of_a_longer_turn_are_known_or_new_not_both(self, store: Store) -> None:
        bring(store, lines("abc"))
        older = bring(store, lines("ab"))
        assert (older.turns, older.items, older.known) == (0, 0, 2)
        on = bring(store, lines("ab"), lines("y"))
        assert (on.turns, on.items, on.known) == (2, 3, 0)
        again = bring(store, lines("ab"), lines("y"))
        assert (again.turns, again.items, again.known) == (0, 0, 3)

    def test_the_place_of_what_is_refused_is_told(self, store: Store) -> None:
        bad = GraftTurn([item("b", "b", file="log.jsonl", place=77)], [{"role": "robot"}])
        [problem] = refused(store, source(bad)).problems
        assert (problem.item, problem.file, problem.place) == ("b", "log.jsonl", 77)
        assert str(problem).startswith("log.jsonl, byte 77, session s-1, item b: ")

    def test_the_same_id_with_other_content_is_refused(self, store: Store) -> None:
        report = refused(store, source(spoken("a", "one"), spoken("a", "other"), spoken("c", "three")))
        assert "twice" in str(report.problems[0])
        assert texts(store.sessions.get("s-1")) == ["one", "one!", "three", "three!"]

    def test_a_circle_of_parents_is_refused(self, store: Store) -> None:
        circle = (spoken("x", "x", parent="y"), spoken("y", "y", parent="x"))
        report = refused(store, source(spoken("a", "one", parent=None), *circle))
        assert ["circle" in str(problem) for problem in report.problems] == [True, True]
        assert texts(store.sessions.get("s-1")) == ["one", "one!"]

    def test_a_parent_that_is_nowhere_is_refused(self, store: Store) -> None:
        report = refused(store, source(spoken("a", "one", parent="trn_1a1ecdef629000eR7C43y4Q2wu")))
        assert "is not in this source" in str(report.problems[0])

    def test_a_usage_key_that_says_something_else_is_refused_alone(self, store: Store) -> None:
        bring(store, spoken("a", "one", usage=[GraftUsage({"input": 1}, key="k")]))
        bad = spoken("b", "two", usage=[GraftUsage({"input": 2}, key="k")])
        report = refused(store, source(spoken("a", "one"), bad, spoken("c", "three")))
        assert len(report.problems) == 1
        assert texts(store.sessions.get("s-1")) == ["one", "one!", "three", "three!"]

    def test_a_source_that_breaks_off_gives_what_came_before(self, store: Store) -> None:
        def turns() -> Iterable[GraftTurn]:
            yield spoken("a", "one")
            raise BadValue("the file breaks off")

        report = refused(store, GraftSession("there", "s-1", turns()))
        assert "breaks off" in str(report.problems[0])
        assert texts(store.sessions.get("s-1")) == ["one", "one!"]

    def test_other_sessions_come_in_whatever_is_wrong_with_one(self, store: Store) -> None:
        wrong = GraftSession("there", "s-0", [spoken("a", "one")], agent="")
        report = refused(store, [wrong, source(spoken("a", "one"))])
        assert [session.turns for session in report.sessions] == [0, 1]
        assert len(list(store.sessions.list())) == 1

    def test_progress_is_told(self, store: Store) -> None:
        told = list[tuple[int, int]]()
        store.graft(
            source(*(spoken(f"i{n}", str(n)) for n in range(250))),
            progress=lambda at: told.append((at.turns, at.items)),
        )
        assert told == [(200, 200), (250, 250)]

    def test_of_two_who_bring_in_the_same_one_is_first(self, store: Store, second: Store) -> None:
        turns = [spoken("a", "one"), spoken("b", "two")]

        def after(known: int) -> GraftTurn:
            """While the first one prepares what it found to be new, the other brings it in."""
            bring(second, *turns)
            return turns[1]

        bring(store, turns[0])
        store.graft(source(turns[0], GraftTurn(turns[1].items, rest=after)))
        session = store.sessions.get("s-1")
        assert (texts(session), len(session.tree())) == (["one", "one!", "two", "two!"], 2)

    def test_of_two_who_make_the_same_session_one_is_first(self, store: Store, second: Store) -> None:
        def meanwhile() -> Iterable[GraftTurn]:
            bring(second, spoken("a", "one"))
            yield spoken("a", "one")

        store.graft(GraftSession("there", "s-1", meanwhile()))
        assert len(list(store.sessions.list())) == 1
        assert len(store.sessions.get("s-1").tree()) == 1


def refused(store: Store, given: GraftSession | list[GraftSession]) -> GraftReport:
    with pytest.raises(GraftRefused) as told:
        store.graft(given)
    return told.value.report
