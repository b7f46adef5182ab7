"""Whatever is typed is a query: an answer comes, never an error; only a wrong time is refused, by its name."""

from __future__ import annotations

import string
from random import Random

import pytest

import palaver

from . import corpus

PIECES = [
    *string.punctuation,
    *("\0", "\x01", "\x1b", "\x7f", "\ud800", "\udfff", "\u202e", "\u200b", "\u0301", "👩‍💻", "שלום", "مرحبا", "日本"),
    *(" ", "  ", "\n", "\t", "AND", "OR", "NOT", "-", "--", '"', "“", "(", ")", "*", "role:", "tool:", "session:"),
    *(
        "is:error",
        "has:",
        "file:",
        "before:2024",
        "after:7d",
        "{",
        "}",
        "\\",
        "'",
        "%",
        "_",
        "NEAR(",
        "words:",
        "^",
        "+",
    ),
    *("|", "&", "!", "<->", ":*", "''", "$$", ";", "--", "/*", "a", "fox", "x" * 70, "é", "ﬁ", "1", "0.5"),
]
OPERATORS = ["AND", "OR", "NOT", "-", "(", ")", '"', "*", ":"]
SAID = 'a fox said "hello" to src/main.py, 50% of it\'s user@host, chat-send C++ 日本語 👍 \\ _ % { } ( ) [ ] ; --'


@pytest.fixture
def spoken(any_store: palaver.Store) -> palaver.Store:
    """Some of it is indexed, some not."""
    session = any_store.sessions.create()
    session.commit(SAID)
    any_store.reindex()
    session.commit(SAID)
    return any_store


def ask(store: palaver.Store, typed: str, random: Random) -> None:
    given = {name: random.random() < 0.2 for name in ("archived", "hidden", "per_session")}
    page = store.search(typed, order=random.choice(("rank", "newest")), limit=1, **given)
    if page.next is not None:
        store.search(typed, order="newest", limit=1)


def typed_by_chance(random: Random) -> str:
    kind = random.randrange(4)
    if kind == 0:
        return "".join(chr(random.choice((random.randrange(128), random.randrange(0x11_0000)))) for _ in range(9))
    if kind == 1:
        return " ".join(random.choice(OPERATORS) for _ in range(random.randrange(8)))
    if kind == 2:
        return corpus.query(random)
    return "".join(random.choice(PIECES) for _ in range(random.randrange(1, 12)))


def fuzz(store: palaver.Store, seed: int, count: int) -> None:
    random = Random(seed)
    for _ in range(count):
        typed = typed_by_chance(random)
        try:
            ask(store, typed, random)
        except palaver.BadValue as refused:
            assert "is no time" in str(refused), repr(typed)
        except Exception as error:
            error.add_note(repr(typed))
            raise


def test_any_string_is_a_query(spoken: palaver.Store) -> None:
    fuzz(spoken, 1, 1_000)


@pytest.mark.long
def test_any_of_very_many_strings_is_a_query(spoken: palaver.Store) -> None:
    fuzz(spoken, 2, 50_000)


def test_every_punctuation_alone_and_in_words_is_a_query(spoken: palaver.Store) -> None:
    random = Random(3)
    for mark in [*string.punctuation, *map(chr, range(33)), "\x7f", "\ud800"]:
        for typed in (mark, mark * 3, f"fox{mark}dog", f"{mark}fox", f"fox{mark}", f"fox {mark} dog", f'"{mark}"'):
            ask(spoken, typed, random)


@pytest.mark.parametrize(
    "typed",
    ["x" * 1_000_000, "fox " * 250_000, "(" * 10_000, "(" * 10_000 + "fox" + ")" * 10_000, "NOT " * 5_000, "-(" * 5_000,
     '"' * 9_999, "OR " * 5_000, "日" * 300_000, "👍" * 100_000, "fox OR " * 400, "-fox " * 400, "fo* " * 300],
    ids=range(13),
)  # fmt: skip
def test_a_query_of_any_length_is_answered(spoken: palaver.Store, typed: str) -> None:
    ask(spoken, typed, Random(4))


def test_what_stands_beside_leftovers_is_found(spoken: palaver.Store) -> None:
    """A quote or a parenthesis without a partner and a lone dash are as if they were not there."""
    for typed in ('fox "', "(fox", "fox)", "fox -", '"fox', "((fox)"):
        assert len(spoken.search(typed).hits) == 2, typed


def test_an_operator_that_dangles_is_looked_for_as_a_word(spoken: palaver.Store) -> None:
    session = spoken.sessions.create()
    session.commit("a fox and a dog or not")
    for _ in range(2):
        for typed in ("fox AND", "fox OR", "AND fox", "OR fox", "fox NOT", "AND", "fox AND AND"):
            assert [hit.snippet for hit in spoken.search(typed)] == ["a fox and a dog or not"], typed
        assert spoken.search("said AND").hits == []
        spoken.reindex(only_missing=True)
