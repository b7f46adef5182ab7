"""Promises 83 and 131 to 138, as far as search goes. Random lives, any string and damage are in tests/search."""

from __future__ import annotations

import pytest

import palaver

from ..tools import sql


def said(store: palaver.Store, typed: str) -> list[str]:
    return sorted(hit.snippet for hit in store.search(typed, limit=100))


def test_promise_083_search_finds_nothing_of_a_deleted_session(store: palaver.Store) -> None:
    session = store.sessions.create()
    session.commit("a fox")
    store.reindex()
    session.commit("another fox")
    session.delete()
    assert store.search("fox", archived=True, hidden=True).hits == []


def test_promise_131_search_keeps_step_with_what_is_said_changed_and_deleted(store: palaver.Store) -> None:
    session = store.sessions.create()
    session.commit("fox one")
    assert said(store, "fox") == ["fox one"]
    store.reindex()
    assert said(store, "fox") == ["fox one"]
    session.edit(session.messages()[0]["id"], "dog one").seal()
    assert (said(store, "fox"), said(store, "dog")) == ([], ["dog one"])
    store.reindex(only_missing=True)
    sql.execute(store.path, "INSERT INTO document_words(document_words) VALUES ('integrity-check')")
    session.delete()
    assert said(store, "dog") == []


@pytest.mark.parametrize("typed", ["'; DROP TABLE documents; --", '" OR 1=1', "words:*", "NEAR(a b)", "\0", "\ud800"])
def test_promise_132_any_query_is_safe(store: palaver.Store, typed: str) -> None:
    store.sessions.create().commit("a fox")
    store.reindex()
    store.search(typed)
    assert said(store, "fox") == ["a fox"]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("fox dog", ["a fox and a dog"]),
        ('"fox and"', ["a fox and a dog"]),
        ("fox OR cat", ["a cat", "a fox and a dog"]),
        ("a -fox", ["a cat"]),
        ("a NOT fox", ["a cat"]),
        ("ca*", ["a cat"]),
    ],
)
def test_promise_133_a_query_means_what_it_says(store: palaver.Store, typed: str, found: list[str]) -> None:
    session = store.sessions.create()
    session.commit("a fox and a dog")
    session.commit("a cat")
    assert said(store, typed) == found
    store.reindex()
    assert said(store, typed) == found


@pytest.mark.parametrize("term", ["chat-send", "src/main.py", "user@host", "50%", "it's", "C++", "a_b.c"])
def test_promise_134_terms_with_separators_are_found(store: palaver.Store, term: str) -> None:
    session = store.sessions.create()
    session.commit(f"see {term} there")
    session.commit("see it there")
    store.reindex()
    assert said(store, term) == [f"see {term} there"]


@pytest.mark.parametrize("typed", ["fox AND", "OR fox", "fox NOT", 'fox "', '"fox', "(fox", "fox)", "fox -", "((fox"])
def test_promise_135_what_dangles_is_tolerated(store: palaver.Store, typed: str) -> None:
    """Operators are words then."""
    session = store.sessions.create()
    session.commit("a fox and an owl, or not")
    session.commit("and or not")
    store.reindex()
    assert said(store, typed) == ["a fox and an owl, or not"]


@pytest.mark.parametrize("table", ["document_words_data", "document_words_idx", "document_words_docsize", "documents"])
def test_promise_136_a_lost_index_is_an_error_and_can_be_made_again(store: palaver.Store, table: str) -> None:
    store.sessions.create().commit("a fox")
    store.reindex()
    sql.execute(store.path, f"DELETE FROM {table}")
    with pytest.raises(palaver.IndexDamaged):
        store.search("fox")
    store.reindex()
    assert said(store, "fox") == ["a fox"]


@pytest.mark.parametrize("table", ["document_words_data", "document_words_idx"])
def test_promise_136_a_page_that_rotted_is_an_error_never_a_shorter_answer(store: palaver.Store, table: str) -> None:
    """Every bit of every table: tests/search/test_damage.py."""
    for number in range(30):
        store.sessions.create().commit(f"a fox, {number} words")
    store.reindex()
    column = "block" if table == "document_words_data" else "term"
    for was in sql.column(store.path, f"SELECT {column} FROM {table} WHERE length({column}) > 0"):
        sql.execute(store.path, f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", was[:-1] + b"\xff", was)
        with pytest.raises(palaver.IndexDamaged):
            store.search("fox")
        sql.execute(store.path, f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", was, was[:-1] + b"\xff")
    assert len(said(store, "fox")) == 30


def test_promise_137_by_source_and_role_and_without_them(store: palaver.Store) -> None:
    for source in ("web", "cli"):
        answer = {"role": "assistant", "parts": [{"type": "text", "text": f"fox answered {source}"}]}
        store.sessions.create(source=source).commit([f"fox asked {source}", answer])
    store.reindex()
    assert said(store, "fox source:web") == ["fox answered web", "fox asked web"]
    assert said(store, "fox -source:web role:user") == ["fox asked cli"]
    assert said(store, "fox -role:user source:cli") == ["fox answered cli"]


def test_promise_138_a_hit_says_where_it_is_and_what_stands_around_it(store: palaver.Store) -> None:
    session = store.sessions.create()
    session.commit("before " * 100)
    session.commit("[a] **fox** <mark>")
    session.commit("after")
    store.reindex()
    [hit] = store.search("fox")
    message = session.transcript()[1]
    assert (hit.message_id, hit.session_id, hit.role, hit.at) == (message.id, session.id, "user", message.created_at)
    assert (hit.snippet, [hit.snippet[start:end] for start, end in hit.marks]) == ("[a] **fox** <mark>", ["fox"])
    assert hit.before is not None and hit.before.startswith("before") and len(hit.before) <= 201
    assert hit.after == "after"
