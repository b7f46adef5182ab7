"""Slices of a document for Postgres: each within the limits, each phrase whole in one; and what is asked of them."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from palaver.search.candidates import candidates
from palaver.search.query import parse
from palaver.search.slices import slices
from palaver.search.tree import Term
from palaver.search.tsquery import Found, combine, quoted, tsquery


def words_of(vector: str) -> list[str]:
    return re.findall(r"'((?:[^']|'')*)':[0-9]+A", vector)


def test_a_small_document_is_one_slice() -> None:
    assert list(slices(["the", "cat", "the"], ["get"])) == ["'the':1A 'cat':2A 'the':3A 'get':1B"]
    assert list(slices([], ["get"])) == ["'get':1B"]
    assert list(slices([], [])) == []


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ([f"w{n}" for n in range(8_000)], 1),
        ([f"w{n}" for n in range(8_001)], 2),
        (["the"] * 200, 1),
        (["the"] * 201, 2),
        (["the"] * 1_000, 6),
        (["é" * 64] * 100 + [f"{n:064}" for n in range(7_000)], 2),
        ([f"{n:05}" + "字" * 59 for n in range(3_000)], 3),
    ],
)
def test_slices_are_within_the_limits_and_overlap_by_32_words(words: list[str], count: int) -> None:
    found = [words_of(vector) for vector in slices(words)]

    assert len(found) == count
    for part in found:
        assert len(part) <= 8_000
        assert max(part.count(word) for word in set(part)) <= 200 if len(set(part)) < 50 else True
        assert sum(len(word.encode()) + 8 for word in part) <= 256 * 1024
    assert [word for part in (found[0], *(rest[32:] for rest in found[1:])) for word in part] == words
    assert all(before[-32:] == after[:32] for before, after in pairwise(found))


def test_many_pieces_are_dealt_out() -> None:
    pieces = [f"piece{n:010}" for n in range(30_000)]

    found = list(slices(["w"], pieces))

    assert len(found) == 4
    assert found[0].startswith("'w':1A 'piece0000000000':1B ")
    assert sum(vector.count(":1B") for vector in found) == 30_000


def test_words_are_quoted() -> None:
    assert quoted("it's") == "'it''s'"
    assert quoted("a\\b") == "'a\\\\b'"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("foo", "'foo'"),
        ("foo*", "'foo':*"),
        ("日", "'日':*"),
        ("日本語", "'日本':A <-> '本語':A"),
        ('"the en"*', "'the':A <-> 'en':*A"),
        ("C++", "'c':A"),
    ],
)
def test_a_term_is_a_tsquery(typed: str, expected: str) -> None:
    tree = parse(typed, now=0).tree

    assert isinstance(tree, Term)
    assert tsquery(tree) == expected


ANSWERS = {
    **{"'a'": frozenset({1, 2}), "'b'": frozenset({2, 3}), "'c'": frozenset({3, 4}), "'c':A": frozenset({3, 4})},
    **{"'d'": frozenset({1, 9}), "'\ue000'": frozenset({9})},  # 9 has a title
}


@pytest.mark.parametrize(
    ("typed", "expected", "exact"),
    [
        ("", Found(frozenset(), inverted=True), True),
        ("a", Found(frozenset({1, 2})), True),
        ("a b", Found(frozenset({2})), True),
        ("a OR b", Found(frozenset({1, 2, 3})), True),
        ("a -b", Found(frozenset({1})), True),
        ("-a", Found(frozenset({1, 2}), inverted=True), True),
        ("-a -b", Found(frozenset({1, 2, 3}), inverted=True), True),
        ("-a OR b", Found(frozenset({1}), inverted=True), True),
        ("-(a b)", Found(frozenset({2}), inverted=True), True),
        ("-d", Found(frozenset({1}), inverted=True), True),
        ("d -(d a)", Found(frozenset({9})), True),
        ("a -C++", Found(frozenset({1, 2})), False),
        ("-C++", Found(frozenset(), inverted=True), False),
        ("b C++", Found(frozenset({3})), False),
        ("b 👍", Found(frozenset({2, 3})), False),
        ("b OR 👍", Found(frozenset(), inverted=True), False),
        ("b (role:user OR c)", Found(frozenset({2, 3})), False),
    ],
)
def test_answers_are_put_together_over_documents(typed: str, expected: Found, exact: bool) -> None:
    asked = candidates(parse(typed, now=0).tree)

    assert combine(asked.tree, ANSWERS.__getitem__) == expected
    assert asked.exact is exact
