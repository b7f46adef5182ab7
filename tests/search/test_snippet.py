"""A snippet shows the part that has most of what was looked for, on one line, and marks it by offsets."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.search.match import matches
from palaver.search.query import parse
from palaver.search.snippet import Snippet, snippet

from . import corpus


def shown(typed: str, text: str, size: int = 200) -> str:
    """The snippet with brackets around its marks."""
    found = snippet(parse(typed, now=0).tree, text, size=size)
    line = found.text
    for start, end in reversed(found.marks):
        line = f"{line[:start]}[{line[start:end]}]{line[end:]}"
    return line


@pytest.mark.parametrize(
    ("typed", "text", "expected"),
    [
        ("fox", "The quick fox", "The quick [fox]"),
        ("fox dog", "The Fox and the DOG.", "The [Fox] and the [DOG]."),
        ("fox -dog", "The fox and the dog", "The [fox] and the dog"),
        ("qui*", "quick quiet fox", "[quick] [quiet] fox"),
        ('"the fox"', "the  \n fox; the dog; the, fox", "[the fox]; the dog; [the, fox]"),
        ('"quick fo"*', "a quick fox", "a [quick fox]"),
        ("name", "def getUserName(name)", "def [getUserName]([name])"),
        ("na*", "def getUserName(x)", "def [getUserName](x)"),
        ("C++", "C and C++ and abc++", "C and [C++] and abc++"),
        ("src/ma*", "in src/main.py", "in [src/main].py"),
        ('"a-b c"', "x a-b\n\nc y", "x [a-b c] y"),
        ("👍", "ok 👍🏽 fine", "ok [👍]🏽 fine"),
        ("本語", "これは日本語です", "これは日[本語]です"),
        ("語", "日本語と英語", "日本[語]と英[語]"),
        ('"入門 java"', "Python入門 Java", "Python[入門 Java]"),
        ("strasse", "Die Straße", "Die [Straße]"),
        ("fine", "so ﬁne", "so [ﬁne]"),
        ("cafe", "un cafe\u0301!", "un [cafe\u0301]!"),
        ("ガ", "ｶﾞﾗｽ", "[ｶﾞ]ﾗｽ"),
        ("2", "½ cup", "[½] cup"),
        ("1 2", "½ cup", "[½] cup"),
        ("line", "one\r\n\tline\u2028two", "one [line] two"),
        ("x", "x data:image/png;base64,AAAA x", "[x] [x]"),
        ("x" * 70, "a " + "x" * 80 + " b", f"a [{'x' * 80}] b"),
        ("zebra", "no such animal", "no such animal"),
        ("", "  all of it  ", "all of it"),
        ("-x", "some text", "some text"),
        ("x", "", ""),
    ],
)
def test_what_was_found_is_marked(typed: str, text: str, expected: str) -> None:
    assert shown(typed, text) == expected


def test_the_part_with_most_of_the_terms_is_shown() -> None:
    text = "fox " * 30 + "bla " * 60 + "a fox and a dog " + "bla " * 60 + "dog"

    assert shown("fox dog", text, size=40) == "…bla bla a [fox] and a [dog] bla bla bla…"


def test_of_equal_parts_the_first_is_shown() -> None:
    text = "bla " * 20 + "fox one " + "bla " * 20 + "fox two"

    assert shown("fox", text, size=30) == "…bla bla bla [fox] one bla bla…"


def test_a_rare_word_is_shown_though_a_common_one_is_everywhere() -> None:
    text = "the end " * 20_000 + "the zebra"

    assert "[the] [zebra]" in shown("the zebra", text)


def test_it_is_cut_between_words_where_words_are_short() -> None:
    found = snippet(parse("middle", now=0).tree, "word " * 100 + "middle " + "word " * 100)

    assert found.text.startswith("…word ") and found.text.endswith(" word…")
    assert 150 < len(found.text) <= 202


def test_a_match_longer_than_the_snippet_is_cut() -> None:
    found = snippet(parse(f'"{"a b " * 200}"', now=0).tree, "a b " * 300)

    assert len(found.text) <= 202
    assert found.marks == [(0, len(found.text) - 1)]


def test_heaps_of_marks_and_unseen_characters_do_not_make_it_long() -> None:
    text = "x" + "\u0301" * 100_000 + " fox " + "\u200b" * 100_000 + "y"

    found = snippet(parse("fox", now=0).tree, text)

    assert len(found.text) < 100
    assert [found.text[start:end] for start, end in found.marks] == ["fox"]


def test_nothing_in_a_text_is_taken_for_a_mark() -> None:
    assert snippet(parse("fox", now=0).tree, "[(4, 7)] >>>fox<<< **fox**") == Snippet(
        "[(4, 7)] >>>fox<<< **fox**", [(12, 15), (21, 24)]
    )


MANY = " ".join(f"w{n}" for n in range(300))
UNITS = ["The quick — getUserName q/b. ", "日本語のテキスト。", "x" * 500, "é\u0301", "a "]


@pytest.mark.parametrize("typed", ["zebra", "th* q* b*", "日本", "name", "q/b", MANY], ids=range(6))
@pytest.mark.parametrize("unit", UNITS, ids=range(5))
def test_a_long_text_is_read(typed: str, unit: str) -> None:
    text = unit * (50_000 // len(unit))

    assert len(snippet(parse(typed, now=0).tree, text).text) <= 402  # an accent is a character, too


@pytest.mark.long
@pytest.mark.parametrize("unit", UNITS, ids=range(5))
def test_a_whole_megabyte_is_read(unit: str) -> None:
    for typed in ("the quick", "q/b na*", "日本", "a", "x*"):
        assert len(snippet(parse(typed, now=0).tree, unit * (1_000_000 // len(unit))).text) <= 402


def test_what_matches_is_marked_in_every_text() -> None:
    random = Random(5)
    for _ in range(400):
        typed, prefix = corpus.term(random)
        text = " … ".join(corpus.text(random) for _ in range(6))
        tree = parse(f'"{typed}"' + "*" * prefix, now=0).tree
        found = snippet(tree, text, size=60)
        assert bool(found.marks) is (tree is not None and matches(tree, text)), (typed, text)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.text(max_size=4), st.integers(5, 50))
def test_marks_are_in_order_and_inside(text: str, typed: str, size: int) -> None:
    found = snippet(parse(f'"{typed}"', now=0).tree, text * 3 + typed + text * 3, size=size)

    flat = [place for mark in found.marks for place in mark]
    assert flat == sorted(flat)
    assert all(0 <= start < end <= len(found.text) for start, end in found.marks)
    assert "\n" not in found.text
