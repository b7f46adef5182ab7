"""What the random lives found, each as a short story."""

from __future__ import annotations

import pytest

import palaver
from palaver.background import jobs

from ..tools.chunks import text
from ..tools.sql import put_message, writing
from .judging import pages


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is indexed by itself."""
    monkeypatch.setattr(jobs.Index, "due", lambda self, now: None)


def found(store: palaver.Store, typed: str, **given: bool) -> list[str]:
    return [hit.message_id for hit in store.search(typed, **given)]


def test_a_page_that_ends_in_what_is_not_indexed_yet_misses_nothing(any_store: palaver.Store) -> None:
    session = any_store.sessions.create()
    for number in range(3):
        session.commit(f"fox {number}")
    any_store.reindex()
    session.commit("fox 3")

    found = pages(any_store, "fox", 1, order="newest")
    assert [hit.snippet for hit in found.hits] == ["fox 3", "fox 2", "fox 1", "fox 0"]


def test_a_question_that_only_an_open_turn_of_a_fork_still_shows_is_found_there(any_store: palaver.Store) -> None:
    session = any_store.sessions.create()
    session.commit(["a fox?", {"role": "assistant", "parts": [{"type": "text", "text": "no"}]}])
    fork = session.fork()
    fork.regenerate()
    session.edit(session.messages()[0]["id"], "a dog?").seal()

    [hit] = any_store.search("fox")

    assert (hit.session_id, hit.hidden) == (fork.id, False)


def test_a_role_is_found_however_it_is_written(any_store: palaver.Store) -> None:
    any_store.sessions.create().commit("a fox")
    any_store.reindex()

    assert len(any_store.search("role:User fox").hits) == 1
    assert any_store.search("fox -role:User").hits == []


def test_a_title_is_found_after_a_fork_has_answered_the_first_message_again(any_store: palaver.Store) -> None:
    session = any_store.sessions.create()
    session.title = "zebra"
    session.commit(["a fox?", {"role": "assistant", "parts": [{"type": "text", "text": "no"}]}])
    any_store.reindex()
    turn = session.fork().regenerate()
    turn.append(text("yes"))
    first = session.messages()[0]["id"]

    assert found(any_store, "zebra") == [first]
    turn.seal()
    assert found(any_store, "zebra") == [first]
    any_store.reindex(only_missing=True)
    assert found(any_store, "zebra") == [first]
    session.title = "giraffe"
    assert (found(any_store, "zebra"), found(any_store, "giraffe")) == ([], [first])


def test_what_a_fork_of_a_deleted_fork_shows_is_found_there(any_store: palaver.Store) -> None:
    session = any_store.sessions.create()
    session.commit("a fox")
    middle = session.fork()
    last = middle.fork()
    middle.delete()
    session.delete()

    assert [hit.session_id for hit in any_store.search("fox")] == [last.id]


def test_what_matches_because_it_has_no_word_is_found_by_rank_too(any_store: palaver.Store) -> None:
    session = any_store.sessions.create()
    session.commit("a fox")
    session.commit("a dog")
    session.commit("a cat")
    any_store.reindex()

    assert sorted(hit.snippet for hit in any_store.search("NOT fox OR fox cat")) == ["a cat", "a dog"]


def test_ranked_pages_end(any_store: palaver.Store) -> None:
    session = any_store.sessions.create()
    for number in range(5):
        session.commit(f"fox {number} {'fox ' * number} and more")
    any_store.reindex()

    assert len(pages(any_store, "fox and", 1).hits) == len(pages(any_store, "fox", 2).hits) == 5


# ---------------------------------------------------------------- titles are their session's own


def test_the_title_of_a_deleted_session_is_not_found_through_its_fork(store: palaver.Store) -> None:
    origin = store.sessions.create("a", title="topsecret plan")
    origin.commit("hello there")
    fork = origin.fork(title="innocent")
    for _ in range(2):
        assert [hit.session_id for hit in store.search("topsecret")] == [origin.id]
        store.reindex()
    origin.delete()
    assert store.search("topsecret").hits == []
    [hit] = store.search("hello")
    assert (hit.session_id, hit.snippet) == (fork.id, "hello there")


def test_a_word_of_a_title_excludes_nothing_where_the_title_is_not_seen(any_store: palaver.Store) -> None:
    origin = any_store.sessions.create("a", title="a fine day")
    origin.commit("hello there")
    other = any_store.sessions.create("a", title="another")
    other.commit("hello again")
    fork = origin.fork()
    for _ in range(2):
        assert [hit.session_id for hit in any_store.search("hello -fine")] == [other.id]
        assert any_store.search("-(-fine) hello").hits[0].session_id == origin.id
        any_store.reindex()
    origin.archive()
    assert {hit.session_id for hit in any_store.search("hello -fine")} == {other.id, fork.id}
    assert any_store.search("hello fine").hits == []


def test_a_title_that_comes_after_a_message_without_words_is_found(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    image = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"}
    session.commit([{"role": "user", "parts": [image]}])
    store.reindex()
    session.title = "Sunset"
    assert len(store.search("sunset")) == 1
    store.reindex(only_missing=True)
    assert len(store.search("sunset")) == 1
    assert store.verify() == []


# ---------------------------------------------------------------- turns that wait more than once


def test_what_a_turn_says_between_two_waits_is_found(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    with session.turn("question") as turn:
        first = turn.tool("look", {"at": "heron"})
    store.reindex(only_missing=True)
    with session.resume(turn.id) as again:
        again.resolve(first.id, output="gannet")
        again.text("Then pelican.")
        again.tool("look", {"at": "ibis"})
    for _ in range(2):
        assert [len(store.search(word)) for word in ("heron", "gannet", "pelican", "ibis")] == [1, 1, 1, 1]
        store.reindex(only_missing=True)
    assert session.waiting()


# ---------------------------------------------------------------- what another program wrote


def test_rows_that_got_the_numbers_of_rows_that_went_are_found(path: str) -> None:
    with palaver.open(path) as store:
        kept, gone = store.sessions.create("a"), store.sessions.create("a")
        kept.commit("kept")
        gone.commit("gone one")
        gone.commit("gone two")
        store.reindex()
        with writing(path) as db:
            db.execute("DELETE FROM chat_parts WHERE session_id = ?", (gone.id,))
            db.execute("DELETE FROM chat_messages WHERE session_id = ?", (gone.id,))
        for word in ("heron", "gannet", "pelican"):
            put_message(path, kept.id, word)
        assert [len(store.search(word)) for word in ("heron", "gannet", "pelican", "gone")] == [1, 1, 1, 0]


# ---------------------------------------------------------------- fields, keys, stars


def test_a_model_is_found_by_its_provider_too(store: palaver.Store) -> None:
    store.sessions.create("a").commit("plum", model="acme/claude-sonnet")
    for asked in ("model:acme", "model:acme/claude", "model:sonnet"):
        assert len(store.search(f"plum {asked}")) == 1, asked


def test_names_of_nested_inputs_are_found(store: palaver.Store) -> None:
    with store.sessions.create("a").turn("go") as turn:
        given = {"environment": {"HOME": "/x"}, "empty": {}, "list": ["one"], "none": []}
        turn.tool("run", given).output({"outer": {"in": 5}})
    assert [len(store.search(word)) for word in ("environment", "empty", "list", "none", "outer", "in")] == [1] * 6


def test_a_star_behind_a_separator_is_a_star(store: palaver.Store) -> None:
    store.sessions.create("a").commit("see src/main.py in C++")
    assert [len(store.search(typed)) for typed in ("src/*", "src/m*", "C++*", "C+*")] == [1, 1, 1, 1]
