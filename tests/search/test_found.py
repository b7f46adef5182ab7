"""What the random lives found, each as a short story."""

from __future__ import annotations

import pytest

import palaver
from palaver import jobs

from ..tools.chunks import text
from .judging import pages


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is indexed by itself."""
    monkeypatch.setattr(jobs.Index, "due", lambda self, now: None)


def found(store: palaver.Store, typed: str, **given: bool) -> list[str]:
    return [hit.message_id for hit in store.search(typed, **given)]


def test_a_page_that_ends_in_what_is_not_indexed_yet_misses_nothing(store: palaver.Store) -> None:
    session = store.sessions.create()
    for number in range(3):
        session.commit(f"fox {number}")
    store.reindex()
    session.commit("fox 3")

    assert [hit.snippet for hit in pages(store, "fox", 1, order="newest")] == ["fox 3", "fox 2", "fox 1", "fox 0"]


def test_a_question_that_only_an_open_turn_of_a_fork_still_shows_is_found_there(store: palaver.Store) -> None:
    session = store.sessions.create()
    session.commit(["a fox?", {"role": "assistant", "parts": [{"type": "text", "text": "no"}]}])
    fork = session.fork()
    fork.regenerate()
    session.edit(session.messages()[0]["id"], "a dog?").seal()

    [hit] = store.search("fox")

    assert (hit.session_id, hit.hidden) == (fork.id, False)


def test_a_role_is_found_however_it_is_written(store: palaver.Store) -> None:
    store.sessions.create().commit("a fox")
    store.reindex()

    assert len(store.search("role:User fox").hits) == 1
    assert store.search("fox -role:User").hits == []


def test_a_title_is_found_after_a_fork_has_answered_the_first_message_again(store: palaver.Store) -> None:
    session = store.sessions.create()
    session.title = "zebra"
    session.commit(["a fox?", {"role": "assistant", "parts": [{"type": "text", "text": "no"}]}])
    store.reindex()
    turn = session.fork().regenerate()
    turn.append(text("yes"))
    first = session.messages()[0]["id"]

    assert found(store, "zebra") == [first]
    turn.seal()
    assert found(store, "zebra") == [first]
    store.reindex(only_missing=True)
    assert found(store, "zebra") == [first]
    session.title = "giraffe"
    assert (found(store, "zebra"), found(store, "giraffe")) == ([], [first])


def test_what_a_fork_of_a_deleted_fork_shows_is_found_there(store: palaver.Store) -> None:
    session = store.sessions.create()
    session.commit("a fox")
    middle = session.fork()
    last = middle.fork()
    middle.delete()
    session.delete()

    assert [hit.session_id for hit in store.search("fox")] == [last.id]
