"""Both engines find what is in the texts: nothing less, nothing more, whatever is asked."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from palaver.search.match import Text, matches
from palaver.search.query import parse

from . import corpus
from .engines import Engine, Fts5, find, postgres

QUERIES = 400
TEXTS = 60


@pytest.fixture(params=["fts5", "postgres"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "fts5":
        yield Fts5()
        return
    with postgres(request.getfixturevalue("dsn")) as opened:
        yield opened


def found(engine: Engine, typed: str, texts: list[str]) -> set[int]:
    return find(engine, parse(typed, now=0).tree, [Text(text) for text in texts])


# ---------------------------------------------------------------- by chance


def compare(engine: Engine, seed: int, queries: int) -> None:
    random = Random(seed)
    texts = [Text(corpus.text(random)) for _ in range(TEXTS)]
    engine.add(text.text for text in texts)
    told_apart = 0
    for _ in range(queries):
        typed = corpus.query(random)
        tree = parse(typed, now=0).tree
        expected = {number for number, text in enumerate(texts) if matches(tree, text)}
        answer = engine.look_up(tree)
        assert answer.candidates >= expected, typed
        assert find(engine, tree, texts) == expected, typed
        told_apart += 0 < len(expected) < len(texts)
    assert told_apart > queries / 5  # most of a comparison of nothing with nothing is worth nothing


def test_an_engine_finds_what_matches(engine: Engine) -> None:
    compare(engine, seed=1, queries=QUERIES)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 10))
def test_an_engine_finds_what_matches_in_many_texts(engine: Engine, seed: int) -> None:
    compare(engine, seed, queries=QUERIES)


# ---------------------------------------------------------------- by hand

TEXTS_BY_HAND = [
    "The C++ compiler said 50% of src/main.py is fine.",  # 0
    "the end of the end, c and d; main.py in src",  # 1
    "class HTTPServer2: def getUserName(self): pass  # foo_bar",  # 2
    "日本語のテキスト と Python入門",  # 3
    "user@host said it’s fine 👍🏽",  # 4
]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", {0, 1, 2, 3, 4}),
        ("fine", {0, 4}),
        ("FINE -c", {4}),
        ("C++", {0}),
        ("c", {0, 1}),
        ("-c", {2, 3, 4}),
        ("-C++", {1, 2, 3, 4}),
        ("c OR -fine", {0, 1, 2, 3}),
        ("src/main.py", {0}),
        ('"src main"', {0}),
        ("main src", {0, 1}),
        ('"the end" OR 50%', {0, 1}),
        ("name", {2}),
        ("serv*", {2}),
        ('"user name"', set()),
        ("foo_bar", {2}),
        ("foo-bar", set()),
        ("foo", {2}),
        ("本語", {3}),
        ("語", {3}),
        ("日語", set()),
        ("入門", {3}),
        ("python入門", {3}),
        ('"python 入門"', {3}),
        ("it's", {4}),
        ("👍", {4}),
        ("user -user@host", {2}),
        ("(c OR user) NOT (fine OR foo)", {1}),
        ("NOT (NOT c)", {0, 1}),
        ("c -(c (d OR -fine))", {0}),
        ("nothing", set()),
    ],
)
def test_what_is_found(typed: str, expected: set[int]) -> None:
    engine = Fts5()
    engine.add(TEXTS_BY_HAND)

    assert found(engine, typed, TEXTS_BY_HAND) == expected
    assert {n for n, text in enumerate(TEXTS_BY_HAND) if matches(parse(typed, now=0).tree, text)} == expected


# ---------------------------------------------------------------- large


def test_large_documents_are_found_by_all_they_have(engine: Engine) -> None:
    texts = [
        "the " * 300 + "the end",  # more of one word than a tsvector counts
        " ".join(f"w{n}" for n in range(20_000)) + " last words here",  # more positions than it has
        " ".join(f"different{n:05}" for n in range(90_000)),  # more bytes than it holds
        "x" * 3_000 + " y",  # a longer word than it takes
        "repeated " * 111_111 + "zebra",  # a megabyte
        "日本語" * 5_000 + "京",
        " ".join(f"get{n}ThingsOfWords" for n in range(9_000)),
    ]
    engine.add(texts)

    assert found(engine, '"the end"', texts) == {0}
    assert found(engine, '"last words here"', texts) == {1}
    assert found(engine, "w0 w19999", texts) == {1}
    assert found(engine, "w0 -w19999", texts) == set()
    assert found(engine, "words", texts) == {1, 6}
    assert found(engine, "different00000 different89999", texts) == {2}
    assert found(engine, "x" * 64 + " y", texts) == {3}
    assert found(engine, '"repeated zebra" -"zebra repeated"', texts) == {4}
    assert found(engine, "語京", texts) == {5}
    assert found(engine, "8999 things", texts) == {6}


@pytest.mark.parametrize("start", [7_960, 7_968, 7_969, 7_990, 8_000, 15_930, 15_936, 15_960])
def test_a_phrase_of_32_words_is_found_wherever_it_stands(engine: Engine, start: int) -> None:
    words = [f"w{n}" for n in range(17_000)]
    engine.add([" ".join(words)])

    answer = engine.look_up(parse(f'"{" ".join(words[start : start + 32])}"', now=0).tree)

    assert answer == ({0}, True)


def test_a_longer_phrase_is_looked_up_in_the_text(engine: Engine) -> None:
    words = [f"w{n}" for n in range(50)]
    texts = [" ".join(words), " ".join(words[:40]) + " other " + " ".join(words[40:])]
    engine.add(texts)
    tree = parse(f'"{" ".join(words)}"', now=0).tree

    assert engine.look_up(tree) == ({0, 1}, False)
    assert find(engine, tree, [Text(text) for text in texts]) == {0}


def test_a_query_as_large_as_may_be_is_answered(engine: Engine) -> None:
    texts = [" ".join(f"w{n}" for n in range(300))]
    engine.add(texts)

    assert found(engine, " ".join(f"w{n}" for n in range(300)), texts) == {0}
    assert found(engine, " OR ".join(f"v{n}" for n in range(300)), texts) == set()
    assert found(engine, "w0 " + " ".join(f"-v{n}" for n in range(300)), texts) == {0}
    assert found(engine, "(w1 OR -w0 (" * 5_000 + "w2", texts) == {0}
    assert found(engine, "-(w0 NOT (" * 5_000 + "w2", texts) == set()


# ---------------------------------------------------------------- nothing typed reaches the engine but words

HOSTILE = [
    *('"', "'", "\\", "''", "';--", '" OR words:"a', "a' | 'b", "'a':*", "a:*", "{words}:a", "NEAR(a b)", "a + b"),
    *("^a", "<->", "a <-> b", "*", "**", "()", ")(", "%s", "$1", ":a"),
    *("\x00", "a\x00b", "\ud800", "a\\'b", "words : a", "!a", "a & b"),
]  # fmt: skip


def test_hostile_strings_are_only_looked_for(engine: Engine) -> None:
    texts = [f"before {hostile} after" for hostile in HOSTILE]
    engine.add(texts)

    for number, hostile in enumerate(HOSTILE):
        tree = parse(f'"{hostile}"', now=0).tree if '"' not in hostile else parse(hostile, now=0).tree
        assert number in find(engine, tree, [Text(text) for text in texts]), hostile


def test_random_strings_are_answered(engine: Engine) -> None:
    random = Random(7)
    engine.add(["one text", "and another"])
    for _ in range(300):
        typed = "".join(random.choice("\"'()*-:|&!\\ ab日👍\u0301\x00%_ORNTAD") for _ in range(random.randrange(1, 20)))
        engine.look_up(parse(typed, now=0).tree)
