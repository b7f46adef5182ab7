"""A text matches or not, by hand, and as a plainer reading of the same rules says."""

from __future__ import annotations

from random import Random

import pytest

from palaver.search.match import Text, fold_text, matches
from palaver.search.query import parse
from palaver.search.tree import Field

from . import corpus, naive


@pytest.mark.parametrize(
    ("typed", "text", "expected"),
    [
        ("error", "An Error occurred", True),
        ("err", "An Error occurred", False),
        ("err*", "An Error occurred", True),
        ("rror*", "An Error occurred", False),
        ("strasse", "Die Straße", True),
        ("STRASSE", "die straße", True),
        ("grosse", "GRÖSSE", True),
        ("οδος", "Ὁδός", True),
        ("τω", "τῷ", True),
        ("istanbul", "İSTANBUL", True),
        ("ışık", "IŞIK", True),
        ("lodz", "Łódź", True),
        ("елка", "ёлка", False),  # not an accent: another letter
        ("हिन्द", "हिन्दी", False),
        ("हिन्दी", "यह हिन्दी है", True),
        ("محمد", "مُحَمَّد", False),
        ("مُحَمَّد", "قال مُحَمَّد", True),
        ("ไทย", "ภาษาไทยง่าย", True),
        ("ษา", "ภาษา", True),
        ("本", "日本語", True),
        ("日語", "日本語", False),
        ("語日", "日本語 日本", False),
        ("가라", "나가라", True),
        ("ガラス", "ｶﾞﾗｽ", True),
        ("cafe", "cafe\u0301", True),
        ("café", "CAFE", True),
        ("fine", "ﬁne", True),
        ("full", "ｆｕｌｌ", True),
        ("coop", "co\u00adop", True),
        ("میخواهم", "می‌خواهم", True),
        ("👩‍💻", "a 👩‍💻 b", True),
        ("👩", "👩‍💻", True),
        ("👍", "no thumbs", False),
        ("❤", "❤️", True),
        ("C++", "I like c++.", True),
        ("C++", "vitamin C, abc++", False),
        ("C++", "c +", False),
        ("50%", "150%", False),
        ("50%", "about 50% of it", True),
        ("foo_bar", "foo bar", False),
        ("foo_bar", "FOO_BAR=1", True),
        ("foo_ba*", "foo_bar", True),
        ("src/main.py", "see src/main.py:3", True),
        ("src/main.py", "see src/main.pyc", False),
        ("it's", "it’s", True),
        ("user@host", "mail user@host.example", True),
        ("name", "getUserName", True),
        ("getusername", "getUserName", True),
        ("get", "getuser", False),
        ("http", "HTTPServer2", True),
        ("2", "HTTPServer2", True),
        ("256", "sha256", False),
        ("ändern", "größeÄndern", True),
        ('"user name"', "getUserName", False),
        ('"a b"', "a, b", True),
        ('"a b"', "a c b", False),
        ('"a, b"', "a b", False),
        ('"a, b"', "a,\n  b", True),
        ('"the en"*', "at the end", True),
        ("a OR b", "b", True),
        ("a b", "b", False),
        ("a -b", "a b", False),
        ("a -b", "a c", True),
        ("-a", "", True),
        ("", "anything", True),
        ("++", "c++", True),
        ("image", "![x](data:image/png;base64,iVBORw0) image", True),
        ("iVBORw0", "![x](data:image/png;base64,iVBORw0)", False),
        ("png", "src='data:image/png;base64,iVBORw0' alt", False),
        ("alt", "src='data:image/png;base64,iVBORw0' alt", True),
        ("bar", "{data:foo,bar:1} data: foo, bar", True),
        ("x" * 80, "x" * 70, True),
        ("x" * 63, "x" * 70, False),
    ],
)
def test_a_text_matches_or_not(typed: str, text: str, expected: bool) -> None:
    assert matches(parse(typed, now=0).tree, text) is expected


def test_a_field_inside_is_asked_of_the_document() -> None:
    tree = parse("foo (role:user OR -bar)", now=0).tree

    assert matches(tree, "foo bar", lambda field: field == Field("role", "user"))
    assert not matches(tree, "foo bar", lambda field: False)
    with pytest.raises(TypeError, match="role"):
        matches(tree, "foo bar")


def test_a_folded_text_has_one_space_for_white_space_and_no_data_urls() -> None:
    assert fold_text("Zwei\n\n Ärger\u00a0data:image/png;base64,AAAA x") == "zwei arger x"


# ---------------------------------------------------------------- and by another reading


@pytest.mark.parametrize("seed", range(3))
def test_a_term_is_found_where_the_plainer_reading_finds_it(seed: int) -> None:
    compare(Random(seed), terms=60)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, 23))
def test_many_terms_are_found_where_the_plainer_reading_finds_them(seed: int) -> None:
    compare(Random(seed), terms=200)


def compare(random: Random, terms: int) -> None:
    texts = [Text(corpus.text(random)) for _ in range(25)]
    found = 0
    for _ in range(terms):
        typed, prefix = corpus.term(random)
        tree = parse(f'"{typed}"' + "*" * prefix, now=0).tree
        for text in texts:
            assert matches(tree, text) is naive.matches(typed, text.text, prefix=prefix), (typed, prefix, text.text)
            found += matches(tree, text)
    assert found > terms / 2
