"""Very large documents: their beginning is searched, and nobody pays for the rest."""

from __future__ import annotations

import pytest

import palaver
from palaver.search import documents

FILLING = "some words that everybody says " * 10_000  # 310,000 characters


def found(store: palaver.Store, query: str) -> int:
    return len(store.search(query))


@pytest.mark.parametrize("indexed", [False, True])
def test_the_first_two_million_characters_of_a_text_are_searched(store: palaver.Store, indexed: bool) -> None:
    store.sessions.create("a").commit("first " + FILLING * 6 + " middle " + FILLING * 2 + " last")
    if indexed:
        store.reindex()
    assert (found(store, "first"), found(store, "middle"), found(store, "last")) == (1, 1, 0)
    assert store.verify() == []


@pytest.mark.parametrize("indexed", [False, True])
def test_of_a_result_that_takes_more_than_4_mb_the_beginning_is_searched(store: palaver.Store, indexed: bool) -> None:
    output = 'first\nline \u00e9t\u00e9 "quoted" ' + FILLING * 14 + " last"
    with store.sessions.create("a").turn("look") as turn:
        turn.tool("cat", {"path": "notes.txt"}).output({"text": output})
    if indexed:
        store.reindex()
    assert [hit.role for hit in store.search('"first line" ete quoted')] == ["tool"]
    assert (found(store, "cat role:assistant"), found(store, "last")) == (1, 0)
    assert store.verify() == []


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r'{"a":"b\nc', '{"a":"b\nc'),
        (r'"\u00e9\"x\\', '"\u00e9"x\\'),
        (r"cut \u00", r"cut u00"),
    ],
)
def test_json_text_is_read_as_it_would_be_said_also_where_it_is_cut(text: str, read: str) -> None:
    assert documents.plain(text) == read
