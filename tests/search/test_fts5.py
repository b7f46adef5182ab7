"""What is asked of FTS5 for a tree."""

from __future__ import annotations

import pytest

from palaver.search.fts5 import Lookup, lookup
from palaver.search.query import parse

BUT_TITLED = ' NOT pieces : "\ue000"'


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", Lookup(None, True)),
        ("foo", Lookup('"foo"', True)),
        ("foo*", Lookup('"foo" *', True)),
        ('"foo ba"*', Lookup('words : "foo ba" *', True)),
        ("日本語", Lookup('words : "日本 本語"', True)),
        ("C++", Lookup('words : "c"', False)),
        ("👍", Lookup(None, False)),
        ("foo bar", Lookup('"foo" AND "bar"', True)),
        ("foo OR bar", Lookup('("foo" OR "bar")', True)),
        ("foo -bar", Lookup(f'("foo") NOT (("bar"){BUT_TITLED})', True)),
        ("foo -bar -baz", Lookup(f'("foo") NOT (("bar" OR "baz"){BUT_TITLED})', True)),
        ("-foo", Lookup(None, False)),
        ("-foo -C++", Lookup(None, False)),
        ("foo -C++", Lookup('"foo"', False)),
        ("foo OR -bar", Lookup(None, False)),
        ("foo (bar OR -baz)", Lookup('"foo"', False)),
        (
            "foo -(bar -baz)",
            Lookup(f'("foo") NOT (((("bar") NOT (("baz"){BUT_TITLED}))){BUT_TITLED})', True),
        ),
        ("foo -(bar OR -baz)", Lookup('"foo"', False)),
        ("foo -(bar (baz OR -qux))", Lookup('"foo"', False)),
        ("foo (role:user OR bar)", Lookup('"foo"', False)),
    ],
)
def test_a_tree_is_an_expression_and_whether_it_says_it_all(typed: str, expected: Lookup) -> None:
    assert lookup(parse(typed, now=0).tree) == expected
