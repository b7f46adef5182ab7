"""What a person types means what the table says; nothing that can be typed is refused, but for a wrong time."""

from __future__ import annotations

import sys
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.errors import BadValue
from palaver.search.query import MOST_CHARACTERS, MOST_TERMS, parse
from palaver.search.tree import And, Node, Not, Or

from .shown import shown

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", ""),
        ("   \n\t ", ""),
        ("foo", "foo"),
        ("foo bar", "(foo bar)"),
        ("foo AND bar", "(foo bar)"),
        ("foo and bar", "(foo and bar)"),
        ('"foo bar"', '"foo bar"'),
        ('"foo   \n bar"', '"foo bar"'),
        ('"foo"', "foo"),
        ("“foo bar”", '"foo bar"'),
        ("foo OR bar", "(foo | bar)"),
        ("a OR b c", "(a | (b c))"),
        ("(a OR b) c", "((a | b) c)"),
        ("a OR b OR c", "(a | b | c)"),
        ("a (b (c d))", "(a b c d)"),
        ("NOT foo", "-foo"),
        ("foo -bar", "(foo -bar)"),
        ("foo NOT bar", "(foo -bar)"),
        ("foo AND NOT bar", "(foo -bar)"),
        ("NOT NOT foo", "foo"),
        ("-(a b)", "-(a b)"),
        ('-"a b"', '-"a b"'),
        ("-(-a)", "a"),
        ("foo*", "foo*"),
        ('"foo ba"*', '"foo ba*"'),
        ("FOO", "foo"),
        ("OR", "or"),
    ],
)
def test_words_phrases_and_operators(typed: str, expected: str) -> None:
    assert shown(parse(typed, now=NOW)) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("C++", "=c++(c)"),
        ("foo_bar", "=foo_bar(foo bar)"),
        ("src/main.py", "=src/main.py(src main py)"),
        ("user@host", "=user@host(user host)"),
        ("50%", "=50%(50)"),
        ("it's", "=it's(it s)"),
        ("it’s", "=it's(it s)"),
        ("chat-send", "=chat-send(chat send)"),
        ("--help", "=--help(help)"),
        ("a->b", "=a->b(a b)"),
        ("->", "=->"),
        ("++", "=++"),
        ("*", "=*"),
        ("**bold**", "=**bold**(bold)"),
        ("foo-ba*", "=foo-ba(foo ba*)"),
        ("C++*", "=c++(c)"),
        ('"C++"*', "=c++(c)"),
        ("foo*bar", "=foo*bar(foo bar)"),
        ("👍", "=👍"),
        ("👩‍💻", "=👩💻"),
        ("-👍", "-=👍"),
        ("foo()", "=foo()(foo)"),
        ("main(args)", "=main(args)(main args)"),
        ("(a OR foo())", "(a | =foo()(foo))"),
        ("foo:bar", "=foo:bar(foo bar)"),
        ("http://x.y/z", "=http://x.y/z(http x y z)"),
        ('"Error: not found."', "=error: not found.(error not found)"),
        ("½", "=1⁄2(1 2)"),
        (":)", "=:)"),
        ("\u200b", ""),
        ("ﷺ", '"صلى الله عليه وسلم"'),
    ],
)
def test_a_term_with_separators_has_its_words_and_its_literal(typed: str, expected: str) -> None:
    assert shown(parse(typed, now=NOW)) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("日", "日*"),
        ("日本", "日本"),
        ("日本語", '"日本 本語"'),
        ("日本語*", '"日本 本語"'),
        ('"日本語 東京"', '"日本 本語 語 東京"'),
        ('"日 hello"', '"日 hello"'),
        ('"hello 日"', '"hello 日*"'),
        ("Python入門", "=python入門(python 入門)"),
        ("入門Python", "=入門python(入門 門 python)"),
        ("ภาษา", '"ภา าษ ษา"'),
        ("한국어", '"한국 국어"'),
        ("ｶﾞﾗｽ", '"ガラ ラス"'),
    ],
)
def test_n_characters_of_an_unspaced_script_are_pairs_and_one_is_a_beginning(typed: str, expected: str) -> None:
    assert shown(parse(typed, now=NOW)) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ('"foo bar', "(foo bar)"),
        ('foo" bar', "(foo bar)"),
        ('"', ""),
        ('""', ""),
        ('"foo" "bar', "(foo bar)"),
        ('say"hi"', '=say"hi"(say hi)'),
        ("foo - bar", "(foo bar)"),
        ("-", ""),
        ("(", ""),
        (")", "=)"),
        ("()", ""),
        ("(foo", "foo"),
        ("foo)", "foo"),
        ("1) first", "(1 first)"),
        ("(foo)bar", "(foo bar)"),
        ("((foo) OR (bar", "(foo | bar)"),
        ("a OR(b c)", "(a | (b c))"),
        ("-() foo", "foo"),
        ('-"" foo', "foo"),
    ],
)
def test_what_has_no_partner_is_nothing(typed: str, expected: str) -> None:
    assert shown(parse(typed, now=NOW)) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("hello AND", "(hello and)"),
        ("foo OR", "(foo or)"),
        ("OR foo", "(or foo)"),
        ("AND foo AND", "(and foo)"),
        ("foo NOT", "(foo not)"),
        ("foo OR OR bar", "((foo or) | bar)"),  # the last of them works
        ("foo AND OR bar", "((foo and) | bar)"),
        ("NOT OR foo", "(not | foo)"),
        ("foo OR NOT", "(foo | not)"),
        ("foo (OR) bar", "(foo or bar)"),
        ("(foo AND) bar", "(foo and bar)"),
        ("(OR foo", "(or foo)"),
        ("NOT () foo", "(not foo)"),
        ("a OR () b", "(a or b)"),
        ('a AND "" b', "(a and b)"),
        ("role:user AND", "and / role:user"),
        ("AND OR NOT", "(and or not)"),
        ("NOT NOT", "not"),
        ("OR " * 500, "or"),
        ("foo " + "OR " * 500, "(foo or)"),
        ("-AND", "and"),
    ],
)
def test_an_operator_with_nothing_to_work_on_is_a_word(typed: str, expected: str) -> None:
    assert shown(parse(typed, now=NOW)) == expected


def test_the_end_of_a_long_query_is_cut_before_its_operator() -> None:
    terms = [f"a{number}" for number in range(300)]
    assert "and" not in shown(parse(" AND ".join(terms), now=NOW)).split()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("role:user foo", "foo / role:user"),
        ("-role:user foo", "foo / -role:user"),
        ("NOT role:user", " / -role:user"),
        ("Role:user", " / role:user"),
        ('agent:"the coder" x', "x / agent:the coder"),
        ('agent:""', " / agent:"),
        ("source:cli model:gpt-5 tool:bash", " / source:cli model:gpt-5 tool:bash"),
        ("file:src/*.py workspace:/w project:p session:s1", " / file:src/*.py workspace:/w project:p session:s1"),
        ("is:error has:file", " / is:error has:file"),
        ("IS:Error", " / is:error"),
        ("is:odd", "=is:odd(is odd)"),
        ("role:", "=role:(role)"),
        ("role: user", "(=role:(role) user)"),
        ('"role:user"', "=role:user(role user)"),
        ('role:"', "=role:(role)"),
        ('role:"us', " / role:us"),
        ("before:7d", f" / before:{NOW - 7 * 86_400_000}"),
        ("foo role:user OR bar", "((foo role:user) | bar)"),
        ("(role:user OR role:tool) foo", "((role:user | role:tool) foo)"),
        ("(role:user) foo", "foo / role:user"),
        ("-(role:user foo)", "-(role:user foo)"),
    ],
)
def test_a_field_of_the_whole_query_is_a_filter_and_elsewhere_a_leaf(typed: str, expected: str) -> None:
    assert shown(parse(typed, now=NOW)) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("24h", NOW - 86_400_000),
        ("90d", NOW - 90 * 86_400_000),
        ("30m", NOW - 1_800_000),
        ("2w", NOW - 14 * 86_400_000),
        ("1700000000123", 1_700_000_000_123),
        ("0", 0),
        ("1970-01-02", 86_400_000),
        ("19700102", 86_400_000),
        ("1971", 365 * 86_400_000),
        ("1970-02", 31 * 86_400_000),
        ("1970-01-01T00:00:01", 1_000),
        ("1970-01-01T01:00:00.5+01:00", 500),
        ('"1970-01-01 00:00:02"', 2_000),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_a_time_is_a_date_or_a_number_or_how_long_ago(typed: str, expected: int) -> None:
    assert shown(parse(f"after:{typed}", now=NOW)) == f" / after:{expected}"


@pytest.mark.parametrize("typed", ["yesterday", "7x", "2024-13-01", "-1", "d", "2024-02-30", "9" * 17, "2024-00", "٧d"])
def test_a_wrong_time_is_refused_by_its_name(typed: str) -> None:
    with pytest.raises(BadValue, match=f"before:{typed} is no time"):
        parse(f"x before:{typed}", now=NOW)


# ---------------------------------------------------------------- limits


PIECES = [
    *("(", ")", "()", '"', "„ ", "NOT ", "- ", "OR ", "\u200b ", "((a OR ", "-(", "a(", "role:", 'role:"', "+", "a"),
    *("日", "a) ", "((", '"" ', "-", "*", "a*", "a OR ", "\u0301", "before:7d "),
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_query_is_read_in_a_time_that_grows_with_its_length(piece: str) -> None:
    parse(piece * 1_000, now=NOW)  # what is kept of characters is kept now

    assert lines_run(piece * 1_000) < 2.5 * lines_run(piece * 500) + 1_000


def lines_run(typed: str) -> int:
    lines = 0

    def count(frame: object, event: str, argument: object) -> object:
        nonlocal lines
        lines += event == "line"
        return count

    sys.settrace(count)
    try:
        parse(typed, now=NOW)
    finally:
        sys.settrace(None)
    return lines


@pytest.mark.parametrize(
    "typed", ["a " * 500_000, "a" * 1_000_000, "+" * 1_000_000, "日" * 1_000_000, '"' + "a b " * 250_000 + '"']
)
def test_a_megabyte_is_a_query(typed: str) -> None:
    assert parse(typed, now=NOW).cut


@pytest.mark.parametrize("piece", ["(", "((a OR ", "-(a OR (b NOT ("])
def test_a_tree_is_never_deep(piece: str) -> None:
    assert depth(parse(piece * 10_000 + "b", now=NOW).tree) < 150


def depth(node: Node | None) -> int:
    match node:
        case And(parts) | Or(parts):
            return 1 + max(map(depth, parts))
        case Not(part):
            return 1 + depth(part)
    return 1


def test_parentheses_that_are_too_deep_are_read_as_if_they_were_not_there() -> None:
    assert shown(parse("(" * 10_000 + "a OR b" + ")" * 10_000 + " c", now=NOW)) == "((a | b) c)"


def test_what_goes_beyond_a_query_is_left_out_and_that_is_told() -> None:
    whole = parse(" ".join(f"w{n}" for n in range(MOST_TERMS)), now=NOW)
    more = parse(" ".join(f"w{n}" for n in range(MOST_TERMS + 1)), now=NOW)

    assert not whole.cut and more.cut
    assert more.tree == whole.tree


def test_of_a_long_term_its_beginning_is_looked_for() -> None:
    query = parse("a/" + "b" * MOST_CHARACTERS, now=NOW)

    assert query.cut
    assert shown(query) == f"=a/{'b' * (MOST_CHARACTERS - 2)}(a {'b' * 64}*)"


def test_of_a_word_64_characters_count() -> None:
    assert shown(parse("x" * 64, now=NOW)) == shown(parse("x" * 65, now=NOW)) == "x" * 64


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=30) | st.text(alphabet="\"'()*-:|&!\\ abORNTAD日👍\u0301\x00%_“”", max_size=30))
def test_every_string_is_a_query(typed: str) -> None:
    parse(typed, now=NOW)


@pytest.mark.long
def test_every_one_of_many_strings_is_a_query() -> None:
    random = Random(3)
    for _ in range(100_000):
        typed = "".join(random.choice(["before:", "7d", "role:", *PIECES, *"'|&!\\ b👍\x00%_“”"]) for _ in range(12))
        with suppress(BadValue):  # a time that is none
            parse(typed, now=NOW)
