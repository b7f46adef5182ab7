"""What is asked of FTS5 for a tree."""

from __future__ import annotations

import pytest

from palaver.search.fts5 import Lookup, lookup
from palaver.search.query import parse


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", Lookup(None, None, True)),
        ("foo", Lookup('"foo"', None, True)),
        ("foo*", Lookup('"foo" *', None, True)),
        ('"foo ba"*', Lookup('words : "foo ba" *', None, True)),
        ("日本語", Lookup('words : "日本 本語"', None, True)),
        ("C++", Lookup('words : "c"', None, False)),
        ("👍", Lookup(None, None, False)),
        ("foo bar", Lookup('"foo" AND "bar"', None, True)),
        ("foo OR bar", Lookup('("foo" OR "bar")', None, True)),
        ("foo -bar", Lookup('("foo") NOT ("bar")', None, True)),
        ("foo -bar -baz", Lookup('("foo") NOT ("bar" OR "baz")', None, True)),
        ("-foo", Lookup(None, '"foo"', True)),
        ("-foo -C++", Lookup(None, '"foo"', False)),
        ("foo -C++", Lookup('"foo"', None, False)),
        ("foo OR -bar", Lookup(None, None, False)),
        ("foo (bar OR -baz)", Lookup('"foo"', None, False)),
        ("foo -(bar -baz)", Lookup('("foo") NOT ((("bar") NOT ("baz")))', None, True)),
        ("foo -(bar OR -baz)", Lookup('"foo"', None, False)),
        ("foo -(bar (baz OR -qux))", Lookup('"foo"', None, False)),
        ("foo (role:user OR bar)", Lookup('"foo"', None, False)),
    ],
)
def test_a_tree_is_an_expression_and_whether_it_says_it_all(typed: str, expected: Lookup) -> None:
    assert lookup(parse(typed, now=0).tree) == expected
