"""The words of a text: by hand for many scripts, and what holds for every text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from palaver.search.characters import fold, fold_text, runs_of
from palaver.search.origins import Origins, spans
from palaver.search.words import segment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("Hello, world! 42", "hello world 42"),
        ("foo_bar foo-bar foo.bar", "foo bar foo bar foo bar"),
        ("it's C++ 50% a@b x/y", "it s c 50 a b x y"),
        ("Größe STRASSE Straße", "grosse strasse strasse"),
        ("naïve café CAFE\u0301", "naive cafe cafe"),
        ("Łódź Ørsted Đurđević", "lodz orsted durdevic"),
        ("İstanbul ISPARTA ısparta", "istanbul isparta isparta"),
        ("Ὁδός ΟΔΟΣ τῷ", "οδοσ οδοσ τω"),
        ("Ёлка йод", "ёлка йод"),
        ("הַיּוֹם שלום", "הַיּוֹם שלום"),
        ("हिन्दी में क्षत्रिय", "हिन्दी में क्षत्रिय"),
        ("مُحَمَّد محمد", "مُحَمَّد محمد"),
        ("ﷺ", "صلى الله عليه وسلم"),
        ("ﬁne ｆｕｌｌ Ⅷ ² ①", "fine full viii 2 1"),
        ("½", "1 2"),
        ("K Å Ω", "k a ω"),
        ("x̂y Z͎a͌l̈g̀o", "xy zalgo"),
        ("d´accord", "d accord"),
        ("\u0301abc \u0301", "abc"),
        ("co\u00adoperate zero\u200bwidth \ufeffbom", "cooperate zerowidth bom"),
        ("می‌خواهم", "میخواهم"),
        ("👩‍💻 ❤️ 1️⃣", "1"),
        ("مرحبا،عالم", "مرحبا عالم"),
        ("١٢٣ ४५", "١٢٣ ४५"),
    ],
)
def test_words_of_scripts_with_spaces(text: str, words: str) -> None:
    assert segment(text).words == words.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("日", "日"),
        ("日本語", "日本 本語 語"),
        ("日本語、東京。", "日本 本語 語 東京 京"),
        ("Python入門3日目", "python 入門 門 3 日目 目"),
        ("人々は二〇二四年", "人々 々は は二 二〇 〇二 二四 四年 年"),
        ("スーパー ｶﾞﾗｽ", "スー ーパ パー ー ガラ ラス ス"),
        ("한국어 공부", "한국 국어 어 공부 부"),
        ("\u1112\u1161\u11ab", "한"),
        ("ㅋㅋ", "ᄏᄏ ᄏ"),
        ("ที่นี่", "ที ี่ ่น นี ี่ ่"),
        ("ພາສາ", "ພາ າສ ສາ າ"),
        ("ខ្មែរ", "ខ្ ្ម មែ ែរ ရ".replace("ရ", "រ")),
        ("မြန်", "မြ ြန န် ်"),
        ("𠮷野家", "𠮷野 野家 家"),
    ],
)
def test_unspaced_runs_are_pairs_and_the_last_character(text: str, words: str) -> None:
    assert segment(text).words == words.split()


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("getUserName", "get user name"),
        ("HTTPServer2", "http server 2"),
        ("parseJSON XMLHttpRequest", "parse json xml http request"),
        ("utf8String v2Beta", "utf 8 string v 2 beta"),
        ("iPhone15 macOS", "i phone 15 mac os"),
        ("größeÄndern ВасяПупкин", "grosse andern вася пупкин"),
        ("E\u0301coleNormale", "ecole normale"),
        ("sha256 a3f9 A3F9 Server2 foo_bar HTTP UPPER_CASE 2024-01-01T10:20:30Z", ""),
        ("日本語 ภาษา Hello", ""),
        ("getUser get getUser", "user"),
        ("getＵser", "get user"),
        ("data:image/png;base64,aBcDeF", ""),
        ("x" * 60 + "AbcDef", "x" * 60 + " abc d"),
    ],
)
def test_pieces_are_parts_between_small_letters_and_capitals(text: str, pieces: str) -> None:
    assert segment(text).pieces == pieces.split()


def test_of_a_word_64_characters_count_and_of_an_unspaced_run_all() -> None:
    assert segment("x" * 65 + " y").words == ["x" * 64, "y"]
    assert segment("é" * 65).words == ["e" * 64]
    assert len(segment("日" * 70).words) == 70


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a data:image/png;base64,iVBORw0KGgo= b", "a b"),
        ("![i](data:image/png;base64,AAAA) b", "i b"),
        ('<img src="data:image/svg+xml;charset=utf-8;base64,PHN2Zz4=">', "img src"),
        ("data:;base64,AAAA", ""),
        ("url(data:text/plain,Hello%20you) x", "url x"),
        ("data: image, text", "data image text"),
        ("{data:foo,bar:1}", "data foo bar 1"),
        ("metadata:image/png,x", "metadata image png x"),
        ("data:" * 3 + "x", "data data data x"),
    ],
)
def test_data_urls_have_no_words(text: str, words: str) -> None:
    assert segment(text).words == words.split()


# ---------------------------------------------------------------- what holds for every text

TRICKY = (
    "aZé\u0301\u0308 \n\t_-日本ก\u0e31าが\u3099ｶﾞ\u1112\u1161\u11abㅋㅏ\u200d\ufe0f👩½ﬁßİıŁᾳǆ\u0345"
    "\u0b47\u0b3e¨\ufe70ﷺ１①Ⅷͺ\U0001e944\U0001e922\U00011131\U00011127\u0338=\x1c\ud800"
)
TEXTS = st.text(max_size=40) | st.text(alphabet=TRICKY, max_size=40)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
@example("и\u200d\u0306")
@example("\u1100\u0300\u1161")
@example("a ¨b")
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold_text(fold_text(text)) == fold_text(text)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_the_words_of_a_text_are_those_of_its_folded_form(text: str) -> None:
    assert runs_of(text) == runs_of(fold(text))
    assert segment(text).words == segment(fold_text(text)).words


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 30))
@example("é" * 30, 20)
def test_every_word_is_where_its_span_says(text: str, times: int) -> None:
    text *= times

    found = list(spans(text))

    assert [span.word for span in found] == segment(text).words
    assert all(span.word in fold_text(text[span.start : span.end]) for span in found)
    assert [span.start for span in found] == sorted(span.start for span in found)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 30))
@example("a" * 249 + "e\u0301", 1)
@example("a" * 249 + "\u1112\u1161", 1)
@example("a" * 249 + " \n b", 1)
def test_the_blocks_of_a_text_fold_to_the_whole(text: str, times: int) -> None:
    origins = Origins(text * times)

    assert origins.folded == fold_text(text * times)
    assert all(0 <= origins.start(at) <= len(text * times) for at in range(len(origins.folded) + 1))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("ﬁne Straße", ["ﬁne", "Straße"]),
        ("cafe\u0301 x", ["cafe\u0301", "x"]),
        ("co\u00adop", ["co\u00adop"]),
        ("日本語", ["日本", "本語", "語"]),
        ("ｶﾞﾗｽ", ["ｶﾞﾗ", "ﾗｽ", "ｽ"]),
        ("a data:image/png;base64,AAAA b", ["a", "b"]),
        ("½", ["½", "½"]),
    ],
)
def test_spans_are_of_the_text_as_it_was_written(text: str, places: list[str]) -> None:
    assert [text[span.start : span.end] for span in spans(text)] == places


# ---------------------------------------------------------------- every character


def check_character(character: str) -> None:
    """Folding is stable, keeps the kind, and NFKC is only skipped where it changes nothing but this character."""
    folded = fold(character)
    assert fold(folded) == folded
    for before in "aи가か각\u09c7":
        around = fold(before + character)
        assert fold(around) == around
        assert runs_of(before + character) == runs_of(around)
        assert fold(unicodedata.normalize("NFD", before + character)) == around


@pytest.mark.parametrize("first", range(0, 0x3000, 0x400))
def test_every_character_of_the_scripts_in_use(first: int) -> None:
    for code in range(first, first + 0x400, 3):
        check_character(chr(code))


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 0x20000, 0x4000))
def test_every_character(first: int) -> None:
    for code in range(first, first + 0x4000):
        check_character(chr(code))
